"""ronderun: output and input of the ranks."""

import os
import pty
import re
import select
import signal
import subprocess
import time
import unittest

from ronderun_support import RONDERUN, RonderunTest, wait_until


class Output(RonderunTest):
    def test_whole_lines(self):
        # awk writes blocks of 4 KiB that end within a line.
        program = (
            'awk -v r="$RONDE_RANK" \'BEGIN { for (i = 0; i < 3000; i++) { s = r " " i " "; '
            'for (k = 0; k < i % 23; k++) s = s "xyz"; print s "." } }\''
        )
        result = self.run_ronderun("-n", "16", "sh", "-c", program)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        next_line = [0] * 16
        for line in result.stdout.splitlines():
            rank, number, rest = line.split(" ")
            self.assertEqual(int(number), next_line[int(rank)])
            self.assertEqual(rest, "xyz" * (int(number) % 23) + ".")
            next_line[int(rank)] += 1
        self.assertEqual(next_line, [3000] * 16)

    def test_prefix(self):
        result = self.run_ronderun("-n", "3", "--prefix", "sh", "-c", "echo a; printf 'b\\n\\nc'; echo e >&2")
        lines = result.stdout.split("\n")
        for rank in range(3):
            mine = [line for line in lines if line.startswith(f"[{rank}] ")]
            self.assertEqual(mine, [f"[{rank}] a", f"[{rank}] b", f"[{rank}] ", f"[{rank}] c"])
        self.assertEqual(sorted(result.stderr.splitlines()), ["[0] e", "[1] e", "[2] e"])

    def test_last_line_without_end(self):
        self.assertEqual(self.run_ronderun("-n", "1", "printf", "abc").stdout, "abc")
        self.assertEqual(self.run_ronderun("-n", "3", "printf", "abc").stdout, "abc\nabc\nabc")

    def test_binary(self):
        data = os.urandom(8 << 20)
        result = self.run_ronderun("-n", "1", "cat", input=data, text=False)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertTrue(result.stdout == data)
        result = self.run_ronderun("-n", "2", "sh", "-c", "[ $RONDE_RANK = 1 ] || exec cat", input=data, text=False)
        self.assertTrue(result.stdout == data)

    def test_reader_ends(self):
        with subprocess.Popen(["head", "-1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as head:
            job = self.start("-n", "4", "sh", "-c", f"yes {self.marker}", stdout=head.stdin)
            head.stdin.close()
            self.assertEqual(head.stdout.read().decode(), self.marker + "\n")
            _, error = job.communicate(timeout=10)
        self.assertEqual((job.returncode, error), (-signal.SIGPIPE, ""))

    def test_reader_pauses(self):
        """Ranks wait for a slow reader, memory stays bounded, and the job can still be ended."""
        job = self.start("-n", "2", "yes", self.marker, stdin=subprocess.DEVNULL)
        time.sleep(0.7)
        with open(f"/proc/{job.pid}/status", encoding="utf-8") as file:
            memory_kb = int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1))
        self.assertLess(memory_kb, 200_000)  # with room for a sanitizer
        job.send_signal(signal.SIGTERM)
        self.assertTrue(wait_until(lambda: job.poll() is not None))
        self.assertEqual(job.returncode, -signal.SIGTERM)

    def test_full_disk(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            job = self.start("-n", "2", "sh", "-c", f"echo hello; {self.sleeper()}", stdout=full)
            _, error = job.communicate(timeout=10)
        self.assertEqual(job.returncode, 1)
        self.assertIn("No space left on device", error)

    def test_terminal_shows_progress(self):
        master, slave = pty.openpty()
        job = self.start("-n", "2", "sh", "-c", f"[ $RONDE_RANK = 1 ] && printf 50%%; {self.sleeper()}", stdout=slave)
        os.close(slave)
        self.assertTrue(select.select([master], [], [], 4)[0])
        self.assertEqual(os.read(master, 100), b"50%")
        job.terminate()
        job.communicate(timeout=10)
        os.close(master)


class Input(RonderunTest):
    def test_rank_0_reads(self):
        result = self.run_ronderun("-n", "3", "--prefix", "sh", "-c", "cat; echo end", input="one\ntwo\n")
        self.assertEqual(
            sorted(result.stdout.splitlines()), ["[0] end", "[0] one", "[0] two", "[1] end", "[2] end"]
        )

    def test_terminal(self):
        master, slave = pty.openpty()
        job = self.start("-n", "2", "sh", "-c", "read line; echo $RONDE_RANK got $line", stdin=slave)
        os.write(master, b"hello\n")
        out, _ = job.communicate(timeout=10)
        os.close(master)
        os.close(slave)
        self.assertEqual(sorted(out.splitlines()), ["0 got hello", "1 got"])

    def test_standard_descriptors_closed(self):
        file = os.path.join(self.folder.name, "out")
        code = subprocess.run(
            ["sh", "-c", f'"$0" -n 2 sh -c "cat; echo x >{file}.\\$RONDE_RANK" <&- >&- 2>&-', RONDERUN], check=False
        ).returncode
        self.assertEqual(code, 0)
        self.assertTrue(os.path.exists(file + ".0") and os.path.exists(file + ".1"))


if __name__ == "__main__":
    unittest.main()
