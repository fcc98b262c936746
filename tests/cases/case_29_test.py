#!/usr/bin/env python3
"""Situation 29: settings that are wrong, that differ between ranks, that do not exist; a rank with another build.

    case_29_test.py FOLDER [TEST...]     FOLDER: where ronderun and the init_rank programs lie
"""
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

import jobs

FOLDER = os.path.abspath(sys.argv.pop(1))
INIT_RANK = os.path.join(FOLDER, "init_rank")
NRANKS = 3
LIMIT = 5.0

NUMBERS = {"RONDE_PORT": "0 to 65535", "RONDE_TCP_CONNECTIONS": "1 to 16", "RONDE_INIT_TIMEOUT": "1 to 86400",
           "RONDE_LATE_WARNING": "0 to 86400", "RONDE_LATE_TIMEOUT": "0 to 86400", "RONDE_SHM_LIMIT": "0 to 1099511627776"}
CHOICES = {"RONDE_ALGO": "auto, ring, two_shot, one_shot, star", "RONDE_PROTO": "auto, simple",
           "RONDE_TRANSPORT": "auto, or a list of inproc, shm, tcp", "RONDE_ACCUMULATE": "auto, float32",
           "RONDE_SOCKET_FAMILY": "any, ipv4, ipv6", "RONDE_SPIN": "auto, on, off",
           "RONDE_DEBUG": "none, warn, info, trace"}


class SettingsTest(unittest.TestCase):
    def run_job(self, command, **settings):
        """(exit code, standard error, seconds) of each rank of a job without launcher."""
        start = time.monotonic()
        files = [tempfile.TemporaryFile(mode="w+") for _ in range(NRANKS)]
        processes = jobs.start_ranks(command, NRANKS, settings, lambda rank: (subprocess.DEVNULL, files[rank]))
        try:
            took = [None] * NRANKS
            while None in took and time.monotonic() < start + 4 * LIMIT:
                for rank, process in enumerate(processes):
                    if took[rank] is None and process.poll() is not None:
                        took[rank] = time.monotonic() - start
                time.sleep(0.005)
            self.assertNotIn(None, took, "a rank has not ended")
        finally:
            jobs.kill_all(processes)
        result = []
        for rank, file in enumerate(files):
            file.seek(0)
            result.append((processes[rank].returncode, file.read(), took[rank]))
            file.close()
        return result

    def check_refused(self, result, words):
        for code, error, took in result:
            self.assertEqual(code, 1, error)
            self.assertLess(took, LIMIT)
            for word in words:
                self.assertIn(word, error)


class WrongValues(SettingsTest):
    def check_value(self, name, value, shown, allowed):
        with self.subTest(name=name, value=value[:20]):
            self.check_refused(self.run_job([INIT_RANK], **{name: value}), [f"{name}='{shown}'", allowed])

    def test_numbers(self):
        for name, allowed in NUMBERS.items():
            for value in ("12abc", "-1", "1e9", ""):
                self.check_value(name, value, value, allowed)

    def test_choices(self):
        for name, allowed in CHOICES.items():
            for value in ("rings", ""):
                self.check_value(name, value, value, allowed)

    def test_long(self):
        for name in list(NUMBERS) + list(CHOICES) + ["RONDE_SOCKET_IFNAME", "RONDE_SECRET_FILE", "RONDE_LOG_FILE"]:
            self.check_value(name, "x" * 4096, "x" * 60 + "...", "allowed: ")

    def test_interface(self):
        for transport in ("auto", "tcp"):
            result = self.run_job([INIT_RANK], RONDE_SOCKET_IFNAME="nowhere7", RONDE_TRANSPORT=transport)
            self.check_refused(result, ["RONDE_SOCKET_IFNAME='nowhere7'", "there are: ", "lo (127.0.0.1)"])

    def test_interface_on_one_rank_only(self):
        """Where shared memory alone would do, too: all who have come learn it."""
        def command(rank):
            late = ["sh", "-c", 'sleep 1; RONDE_SOCKET_IFNAME=nowhere7 exec "$0"', INIT_RANK]
            return late if rank == 1 else [INIT_RANK]
        self.check_refused(self.run_job(command), ["RONDE_SOCKET_IFNAME='nowhere7'", "there are: "])

    def test_on_one_rank_under_ronderun(self):
        script = 'if [ $RONDE_RANK = 2 ]; then export RONDE_SPIN=12abc; fi; exec "$0"'
        start = time.monotonic()
        done = subprocess.run([f"{FOLDER}/ronderun", "-n", "3", "sh", "-c", script, INIT_RANK], capture_output=True, text=True,
                              timeout=20, env=jobs.environment(), check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertLess(time.monotonic() - start, LIMIT)
        self.assertIn("RONDE_SPIN='12abc' is not allowed; allowed: auto, on, off", done.stderr)
        self.assertIn("rank 2", done.stderr)


class Agreement(SettingsTest):
    def check_one_rank(self, name, value, usual):
        with self.subTest(name=name):
            def command(rank):
                return ["env", f"{name}={value}", INIT_RANK] if rank == 1 else [INIT_RANK]
            self.check_refused(self.run_job(command), [f"rank 0 has {name}={usual}, rank 1 has {name}={value}"])

    def test_settings(self):
        for name, value, usual in [("RONDE_ALGO", "ring", "auto"), ("RONDE_PROTO", "simple", "auto"),
                                   ("RONDE_TRANSPORT", "tcp", "auto"), ("RONDE_ACCUMULATE", "float32", "auto"),
                                   ("RONDE_TCP_CONNECTIONS", "2", "1")]:
            self.check_one_rank(name, value, usual)

    def test_what_need_not_agree(self):
        def command(rank):
            return ["env", "RONDE_SPIN=off", "RONDE_INIT_TIMEOUT=20", INIT_RANK] if rank == 1 else [INIT_RANK]
        for code, error, _ in self.run_job(command):
            self.assertEqual((code, error), (0, ""))

    def check_build(self, program, own, other):
        for odd in (0, 1):
            result = self.run_job(lambda rank, odd=odd: [os.path.join(FOLDER, program) if rank == odd else INIT_RANK])
            self.check_refused(result, [])
            for rank, (_, error, _) in enumerate(result):
                with self.subTest(odd=odd, rank=rank):
                    found = dict(re.findall(r"rank (\d+) (?:runs )?version ([\d.]+(?: \(sources [0-9a-f]{12}\))?)", error))
                    self.assertEqual(len(found), 2, error)
                    for number, text in found.items():
                        self.assertRegex(text, other if int(number) == odd else own, error)
                    self.assertIn("install the same one everywhere", error)

    def test_another_version(self):
        self.check_build("init_rank_other_version", r"^\d+\.\d+\.(?!99)\d+$", r"^\d+\.\d+\.99$")

    def test_other_sources_of_one_version(self):
        self.check_build("init_rank_other_sources", r"sources (?!0123456789ab)[0-9a-f]{12}\)$", r"sources 0123456789ab\)$")


class UnknownNames(SettingsTest):
    WARNING = "RONDE_ALGOO is not a setting of this version and has no effect; the nearest one is RONDE_ALGO"

    def test_without_launcher(self):
        result = self.run_job([INIT_RANK], RONDE_ALGOO="ring")
        self.assertEqual([code for code, _, _ in result], [0] * NRANKS)
        self.assertEqual("".join(error for _, error, _ in result).count("RONDE_ALGOO"), 1)
        self.assertIn(self.WARNING, result[0][1])

    def test_ronderun(self):
        for arguments, variables in [([], {"RONDE_ALGOO": "ring"}), (["-x", "RONDE_ALGOO=ring"], {})]:
            done = subprocess.run([f"{FOLDER}/ronderun", "-n", "8", *arguments, INIT_RANK], capture_output=True, text=True,
                                  timeout=20, env=jobs.environment(**variables), check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr.count("RONDE_ALGOO"), 1, done.stderr)
            self.assertIn(self.WARNING, done.stderr)

    def test_known_names(self):
        for code, error, _ in self.run_job([INIT_RANK], RONDE_DEBUG="warn", RONDE_LATE_WARNING="0"):
            self.assertEqual((code, error), (0, ""))


if __name__ == "__main__":
    unittest.main()
