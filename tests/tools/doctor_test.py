#!/usr/bin/env python3
"""ronde-doctor from end to end.

    doctor_test.py PROGRAM [TEST...]     PROGRAM: ronde-doctor
"""
import json
import os
import re
import resource
import socket
import subprocess
import sys
import tempfile
import unittest

DOCTOR = os.path.abspath(sys.argv.pop(1))
LAUNCHERS = ("RONDE_", "OMPI_", "PMI", "SLURM_", "MASTER_")


def environment(**settings):
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS) and name not in names}
    return {**kept, **settings}


class DoctorTest(unittest.TestCase):
    def run_doctor(self, *arguments, limit=None, limited=resource.RLIMIT_NOFILE, **settings):
        set_limit = None if limit is None else lambda: resource.setrlimit(limited, limit)
        return subprocess.run([DOCTOR, *arguments], capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL,
                              env=environment(**settings), preexec_fn=set_limit, check=False)

    def findings(self, *arguments, code, **more):
        """{what: finding}; of several with one name the last."""
        done = self.run_doctor(*arguments, "--json", **more)
        self.assertEqual((done.returncode, done.stderr), (code, ""), done.stdout)
        return {finding["what"]: finding for finding in json.loads(done.stdout)["findings"]}


class CommandLine(DoctorTest):
    def test_help_and_version(self):
        done = self.run_doctor("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for word in ("--settings", "--listen", "--connect", "Exit status"):
            self.assertIn(word, done.stdout)
        self.assertRegex(self.run_doctor("--version").stdout, r"^ronde-doctor \d+\.\d+\.\d+\n$")

    def test_wrong(self):
        for arguments, words in [(["--no-such"], "--no-such"), (["node"], "node"), (["-n", "x"], "'x'"),
                                 (["--listen", "x"], "'x'"), (["--connect", "a:b"], "'b'"), (["--connect"], "--connect"),
                                 (["--settings", "--connect", "a:1"], "take one of")]:
            done = self.run_doctor(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn(words, done.stderr)


class Machine(DoctorTest):
    def test_all_is_well(self):
        done = self.run_doctor("-n", "1")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        for what in ("settings", "CPUs", "memory", "open files", "shared memory", "wake-up", "network"):
            self.assertRegex(done.stdout, rf"(?m)^(ok|warning)  +{what}")
        self.assertRegex(done.stdout, r"\nno problems, (no|\d+) warnings?\n$")
        self.assertNotIn("\x1b", done.stdout)

    def test_open_files(self):
        finding = self.findings("-n", "16", code=1, limit=(64, 1024))["open files"]
        self.assertEqual(finding["state"], "problem")
        self.assertIn("limit 64 (hard limit 1024)", finding["value"])
        need = re.fullmatch(r"ulimit -Sn (\d+)", finding["remedy"]).group(1)
        self.assertEqual(self.findings("-n", "16", code=0, limit=(int(need), 1024))["open files"]["state"], "ok")
        self.assertIn("administrator", self.findings("-n", "16", code=1, limit=(64, 64))["open files"]["remedy"])

    def test_limit_of_file_sizes(self):
        def finding(code, limit, **settings):
            return self.findings("-n", "2", code=code, limited=resource.RLIMIT_FSIZE, limit=limit, **settings)["shared memory"]
        low = finding(1, (100 << 10, 1 << 30))
        self.assertEqual(low["state"], "problem")
        self.assertIn("the limit of file sizes is 102400 bytes", low["value"])
        self.assertIn("ulimit -Sf", low["remedy"])
        self.assertIn("administrator", finding(1, (100 << 10, 100 << 10))["remedy"])
        for settings in ({"RONDE_TRANSPORT": "inproc,tcp"}, {"RONDE_SHM_LIMIT": "0"}):
            self.assertNotEqual(finding(0, (100 << 10, 100 << 10), **settings)["state"], "problem")

    def test_no_shared_memory_and_no_tcp(self):
        finding = self.findings(code=1, RONDE_SHM_LIMIT="0", RONDE_TRANSPORT="shm")["shared memory"]
        self.assertIn("RONDE_TRANSPORT=shm allows no tcp", finding["value"])

    @unittest.skipIf(os.environ.get("TEST_SANITIZER"), "a sanitizer needs descriptors for itself")
    def test_hardly_any_open_files(self):
        for files in range(3, 12):
            done = self.run_doctor(limit=(files, files))
            self.assertIn(done.returncode, (1, 127), files)  # 127: not even its libraries can be loaded
            self.assertIn("open", done.stdout + done.stderr)

    def test_more_ranks_than_cpus(self):
        finding = self.findings("-n", "999", code=0, limit=(20000, 20000))["CPUs"] if os.cpu_count() < 999 else None
        self.assertTrue(finding is None or finding["state"] == "warning")

    def test_port(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            finding = self.findings(code=1, RONDE_PORT=str(port))[f"RONDE_PORT {port}"]
            self.assertIn("in use", finding["value"])
            self.assertIn(f"process {os.getpid()}", finding["remedy"])
        self.assertEqual(self.findings(code=0, RONDE_PORT=str(port))[f"RONDE_PORT {port}"]["state"], "ok")

    def test_interface(self):
        finding = self.findings(code=1, RONDE_SOCKET_IFNAME="nowhere7")["network"]
        self.assertIn("RONDE_SOCKET_IFNAME='nowhere7'", finding["value"])
        self.assertIn("127.0.0.1", self.findings(code=0, RONDE_SOCKET_IFNAME="lo", RONDE_SOCKET_FAMILY="ipv4")["network lo"]["value"])

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "secret")
            for content, mode, right in [(None, 0, False), (b"x" * 32, 0o644, False), (b"x" * 31, 0o600, False),
                                         (b"x" * 32, 0o600, True)]:
                if content is not None:
                    with open(path, "wb") as file:
                        file.write(content)
                    os.chmod(path, mode)
                finding = self.findings(code=0 if right else 1, RONDE_SECRET_FILE=path)["secret file"]
                self.assertEqual(finding["state"], "ok" if right else "problem", finding)
            os.unlink(path)
            self.assertEqual(self.findings(code=0, RONDE_LOG_FILE=f"{folder}/%p.log")["log file"]["state"], "ok")
            self.assertEqual(os.listdir(folder), [])
            self.assertIn("RONDE_LOG_FILE", self.findings(code=1, RONDE_LOG_FILE=f"{folder}/no/file")["log file"]["value"])

    def test_document(self):
        """As docs/json.md has it."""
        document = json.loads(self.run_doctor("--json", RONDE_SPINN="on").stdout)
        self.assertEqual(list(document), ["program", "version", "findings", "problems", "warnings"])
        for finding in document["findings"]:
            self.assertEqual(list(finding), ["state", "what", "value", "remedy"])
            self.assertIn(finding["state"], ("ok", "warning", "problem"))
        settings = json.loads(self.run_doctor("--settings", "--json").stdout)
        self.assertEqual(list(settings), ["program", "version", "settings", "unknown", "problems", "warnings"])
        for row in settings["settings"]:
            self.assertEqual(list(row), ["name", "value", "source", "default", "allowed", "meaning", "problem"])
            self.assertEqual({type(value) for value in row.values()}, {str})

    def test_launcher(self):
        self.assertIn("WORLD_SIZE", self.findings(code=1, RANK="0")["launcher"]["value"])


class Settings(DoctorTest):
    def test_table(self):
        done = self.run_doctor("--settings", RONDE_ALGO="Ring")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^RONDE_ALGO +ring +environment +auto$")
        self.assertRegex(done.stdout, r"(?m)^RONDE_SPIN +auto +default +auto$")
        self.assertTrue(done.stdout.endswith("\nno problems, no warnings\n"))

    def test_all_faults_are_shown(self):
        wrong = {"RONDE_ALGO": "rings", "RONDE_PORT": "12abc", "RONDE_SPINN": "on", "RONDE_LOGFILE": "x"}
        done = self.run_doctor("--settings", **wrong)
        self.assertEqual(done.returncode, 1)
        for words in ("RONDE_ALGO='rings' is not allowed", "RONDE_PORT='12abc' is not allowed", "RONDE_SPINN is not a setting",
                      "the nearest one is RONDE_SPIN", "the nearest one is RONDE_LOG_FILE", "\n2 problems, 2 warnings\n"):
            self.assertIn(words, done.stdout)
        document = json.loads(self.run_doctor("--settings", "--json", **wrong).stdout)
        self.assertEqual((document["problems"], document["warnings"]), (2, 2))
        rows = {row["name"]: row for row in document["settings"]}
        self.assertEqual((rows["RONDE_PORT"]["value"], rows["RONDE_PORT"]["source"], rows["RONDE_PORT"]["default"]),
                         ("12abc", "environment", "0"))
        self.assertEqual(sorted(entry["nearest"] for entry in document["unknown"]), ["RONDE_LOG_FILE", "RONDE_SPIN"])
        checks = self.run_doctor(**wrong, RONDE_FOO="1")
        self.assertIn("-> unset RONDE_FOO\n", checks.stdout)
        self.assertEqual(checks.returncode, 1)
        self.assertEqual(checks.stdout.count("\nproblem  setting "), 2)
        self.assertEqual(checks.stdout.count("\nwarning  setting "), 3)
        self.assertIn("-> set RONDE_ALGO to: auto, ring, two_shot, one_shot, star; or unset RONDE_ALGO (default: auto)",
                      checks.stdout)

    def test_misspelt_is_no_problem(self):
        finding = self.findings(code=0, RONDE_SPINN="on")["setting"]
        self.assertEqual(finding["state"], "warning")
        self.assertIn("did you mean RONDE_SPIN?", finding["remedy"])
        self.assertEqual(self.run_doctor("--settings", RONDE_SPINN="on").returncode, 0)

    def test_what_only_start_up_finds_out(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, value in [("RONDE_SOCKET_IFNAME", "nowhere7"), ("RONDE_SOCKET_IFNAME", "^lo,^eth0"),
                                ("RONDE_LOG_FILE", f"{folder}/no/file"), ("RONDE_SECRET_FILE", f"{folder}/no")]:
                done = self.run_doctor("--settings", "--json", **{name: value})
                self.assertEqual(done.returncode, 1, name)
                problems = {row["name"]: row["problem"] for row in json.loads(done.stdout)["settings"] if row["problem"]}
                self.assertEqual(list(problems), [name])
                self.assertIn(value, problems[name])
            self.assertEqual(self.run_doctor("--settings", RONDE_LOG_FILE=f"{folder}/%p.log").returncode, 0)
            self.assertEqual(os.listdir(folder), [])

    def test_strange_bytes(self):
        for arguments in (["--settings"], ["--settings", "--json"], []):
            done = subprocess.run([DOCTOR, *arguments], capture_output=True, timeout=30, check=False,
                                  env={**environment(), "RONDE_SOCKET_IFNAME": b"\xff\x1b[2J"})
            self.assertIn(done.returncode, (0, 1))
            self.assertNotIn(b"\x1b", done.stdout)


class Reach(DoctorTest):
    def listen(self, *arguments, **settings):
        process = subprocess.Popen([DOCTOR, "--listen", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=environment(**settings))
        self.addCleanup(lambda: (process.kill(), process.communicate()))
        return process

    def test_loopback(self):
        listener = self.listen("--timeout", "3", RONDE_SOCKET_IFNAME="lo")
        self.assertEqual(listener.stdout.readline(), "On each other machine run:\n")
        program, option, addresses = listener.stdout.readline().split()
        self.assertEqual((program, option), ("ronde-doctor", "--connect"))
        self.assertIn("127.0.0.1:", addresses)
        self.assertIn("for 3 s at most", listener.stdout.readline())
        findings = self.findings(option, addresses, code=0)
        self.assertEqual(set(findings), set(addresses.split(",")))
        for what, finding in findings.items():
            own = "::1" if what.startswith("[") else "127.0.0.1"
            self.assertRegex(finding["value"], rf"^reached from {own} \(loopback\) in [\d.]+ ms; round trip [\d.]+ ms$")
        output, error = listener.communicate(timeout=10)
        self.assertEqual((listener.returncode, error), (0, ""))
        self.assertEqual(output.count("reaches this machine at"), len(findings))

    def test_nobody_comes(self):
        listener = self.listen("--timeout", "1", RONDE_SOCKET_IFNAME="lo")
        output, _ = listener.communicate(timeout=10)
        self.assertEqual(listener.returncode, 1)
        self.assertIn("Nobody has reached this machine", output)

    def test_port_of_the_settings(self):
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        listener = self.listen("--timeout", "2", RONDE_SOCKET_IFNAME="lo", RONDE_PORT=str(port))
        listener.stdout.readline()
        self.assertIn(f"127.0.0.1:{port}", listener.stdout.readline())
        self.assertEqual(self.run_doctor("--connect", "127.0.0.1", RONDE_PORT=str(port)).returncode, 0)

    def test_taken_port(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            done = self.run_doctor("--listen", str(taken.getsockname()[1]), "--timeout", "1")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(f"process {os.getpid()}", done.stderr)

    def test_refused(self):
        with socket.socket() as probe:  # bound, not listening
            probe.bind(("127.0.0.1", 0))
            finding = self.findings("--connect", f"127.0.0.1:{probe.getsockname()[1]}", code=1)
        (finding,) = finding.values()
        self.assertIn("refused", finding["value"])
        self.assertIn("nobody listens there", finding["remedy"])

    def test_family(self):
        finding = self.findings("--connect", "127.0.0.1:9", code=1, RONDE_SOCKET_FAMILY="ipv6")["127.0.0.1"]
        self.assertIn("RONDE_SOCKET_FAMILY=ipv6", finding["value"])

    def test_no_port_and_no_name(self):
        for host, remedy in [("127.0.0.1", "write 127.0.0.1:PORT"), ("node-a", "write node-a:PORT"),
                             ("::1", "write [::1]:PORT"), ("::1:4711", "if 4711 is the port, write [::1]:4711")]:
            finding = self.findings("--connect", host, code=1)[host]
            self.assertIn("which port", finding["value"])
            self.assertIn(remedy, finding["remedy"])
        (finding,) = self.findings("--connect", "::1:4711", "--timeout", "1", code=1, RONDE_PORT="4711").values()
        self.assertIn("[::1]:4711", finding["remedy"])
        self.assertIn("leads nowhere", self.findings("--connect", "no..name:9", code=1)["no..name"]["value"])

    def test_wrong_settings_come_first(self):
        for arguments in (["--connect", "127.0.0.1:9"], ["--listen", "--timeout", "1"]):
            done = self.run_doctor(*arguments, RONDE_SOCKET_FAMILY="ipv5")
            self.assertEqual((done.returncode, done.stderr), (1, ""))
            self.assertIn("RONDE_SOCKET_FAMILY='ipv5'", done.stdout)
            self.assertNotIn("127.0.0.1", done.stdout)

    def test_misspelt_settings_are_shown_too(self):
        finding = self.findings("--connect", "127.0.0.1", code=1, RONDE_SOCKET_FAMLY="ipv4")["setting"]
        self.assertEqual(finding["state"], "warning")


if __name__ == "__main__":
    unittest.main()
