# SPDX-License-Identifier: BSD-3-Clause
"""What all steps of scripts/gpu-check share: programs are run within limits of time, and whatever becomes of one is a
line of the report."""
import concurrent.futures
import json
import os
import signal
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Failure(Exception):
    def __init__(self, status, output, seconds=0.0):
        self.status, self.output, self.seconds = status, output, seconds

    def text(self):
        lines = self.output.strip().splitlines()
        what = "took too long" if self.status is None else "signal %d" % -self.status if self.status < 0 \
            else "status %d" % self.status if self.status else ""
        return ": ".join(filter(None, (what, lines[-1][:300] if lines else "")))


class Check:
    """What all steps share: programs, the device, time that is left."""

    def __init__(self, options):
        self.options, self.deadline = options, time.monotonic() + options.budget
        self.program, self.tests = os.path.abspath(options.program), os.path.abspath(options.tests)
        self.folder = tempfile.mkdtemp(prefix="gpu-check-")
        carried = os.path.join(ROOT, "lib")
        if os.path.isdir(carried):
            os.environ["LD_LIBRARY_PATH"] = ":".join(filter(None, [carried, os.environ.get("LD_LIBRARY_PATH")]))
        self.report = self.info = None

    def left(self):
        return self.deadline - time.monotonic()

    def run(self, command, limit, cwd=None, **environment):
        """(status or None after the limit, output, errors, seconds); whatever it started ends with it."""
        began = time.monotonic()
        process = subprocess.Popen(command, cwd=cwd or ROOT, env={**os.environ, **environment}, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True, errors="replace")
        try:
            out, errors = process.communicate(timeout=max(0.1, min(limit, self.left())))
            status = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            try:
                out, errors = process.communicate(timeout=10)
            except subprocess.TimeoutExpired:  # in the driver, where signals do not reach it
                out, errors = "", "could not be ended"
            status = None
        return status, out, errors, time.monotonic() - began

    def backlight(self, arguments, limit, device=None):
        """JSON of a command of the program; raises Failure."""
        status, out, errors, seconds = self.run([self.program, *arguments, "--json", "--device", device
                                                 or self.selector], limit)
        if status != 0:
            raise Failure(status, out + errors, seconds)
        return json.loads(out), seconds

    def guarded(self, step, name, work):
        """Adds the result of work(), (text, figures), or what went wrong."""
        began = time.monotonic()
        if self.left() <= 1:
            return self.report.add(step, name, "left", 0)
        try:
            text, figures = work()
            self.say(step, name, "passed", time.monotonic() - began, text, figures=figures)
        except Failure as e:
            verdict = "failed" if e.status is not None else "timeout" if self.left() > 1 else "left"
            self.say(step, name, verdict, e.seconds, e.text(), e.output)
        except Exception as e:  # a report with this in it is worth more than none
            self.say(step, name, "failed", time.monotonic() - began, "%s: %s" % (type(e).__name__, e))

    def say(self, step, name, status, seconds, text="", output="", figures=None):
        self.report.add(step, name, status, seconds, text, output, figures)
        print("%4.0f s  %-8s %s %s: %s" % (self.report.data["seconds"], status, step, name, text), flush=True)

    def together(self, jobs):
        """Runs functions several at once, in their order."""
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            list(pool.map(lambda job: job(), jobs))
