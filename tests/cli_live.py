# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""What others may follow: --events writes lines of JSON with an end that tells status and numbers of result.json; --tev sends
pictures that a server of tev's protocol reads, the last one equal to the file; a viewer that goes away stops nothing, and one
that is not there is an error before any work."""
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading

PROGRAM = os.path.abspath(os.environ.get("BL_PROGRAM", "build/backlight"))
DEVICE = os.environ.get("BL_DEVICE", "native")
SCENE = """<scene version="3.0.0"><integrator type="direct"/><sensor type="perspective"><transform name="to_world"><lookat origin="0,0,3"
target="0,0,0" up="0,1,0"/></transform><film type="hdrfilm"><integer name="width" value="12"/><integer name="height" value="8"/>
<rfilter type="box"/></film></sensor><bsdf type="diffuse" id="wall"/><shape type="rectangle"><ref id="wall"/></shape>
<emitter type="constant"/></scene>"""
JOB = {"scene": "scene.xml", "target": {"render": True}, "steps": 5, "spp": 2,
       "parameters": [{"name": "wall.reflectance.value", "initial": 0.2}]}
problems = []


def check(good, text):
    if not good:
        problems.append(text)


class Viewer:
    """Reads packets of one connection: created names, and channels of each."""

    def __init__(self, packets=None):
        self.server = socket.create_server(("127.0.0.1", 0))
        self.server.settimeout(60)
        self.port, self.most = self.server.getsockname()[1], packets
        self.sizes, self.images, self.failure = {}, {}, None
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        try:
            connection = self.server.accept()[0]
            count = 0
            while self.most is None or count < self.most:
                head = connection.recv(4, socket.MSG_WAITALL)
                if len(head) < 4:
                    break
                self.packet(connection.recv(struct.unpack("<I", head)[0] - 4, socket.MSG_WAITALL))
                count += 1
            connection.close()
        except (OSError, ValueError, struct.error) as error:
            self.failure = error
        self.server.close()

    def packet(self, data):
        kind, focus = data[0], data[1]
        name, rest = data[2:].split(b"\0", 1)
        if kind == 4:
            width, height, channels = struct.unpack("<iii", rest[:12])
            if (channels, rest[12:]) != (3, b"R\0G\0B\0") or focus:
                raise ValueError("channels %s" % rest[12:])
            self.sizes[name.decode()] = (width, height)
        elif kind == 3:
            channel, rest = rest.split(b"\0", 1)
            x, y, width, height = struct.unpack("<iiii", rest[:16])
            if (x, y, width, height) != (0, 0) + self.sizes[name.decode()] or len(rest) != 16 + 4 * width * height:
                raise ValueError("a part of %s" % name)
            self.images.setdefault(name.decode(), {})[channel.decode()] = struct.unpack("<%df" % (width * height), rest[16:])
        else:
            raise ValueError("a packet of type %d" % kind)

    def end(self):
        self.thread.join(60)
        check(self.failure is None, "the viewer: %s" % self.failure)


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments, "--device", DEVICE, "--quiet"], check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def events(name):
    with open(name, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def rendering():
    viewer = Viewer()
    done = run("render", "scene.xml", "-o", "a.pfm", "--spp", "4", "--events", "r.jsonl", "--tev", "127.0.0.1:%d" % viewer.port)
    viewer.end()
    check(done.returncode == 0, done.stderr)
    if done.returncode:
        return
    with open("a.pfm", "rb") as f:
        values = struct.unpack("<%df" % (3 * 12 * 8), f.read()[-4 * 3 * 12 * 8:])
    green = [values[3 * (12 * (7 - y) + x) + 1] for y in range(8) for x in range(12)]
    check(viewer.sizes == {"a.pfm": (12, 8)} and list(viewer.images["a.pfm"]["G"]) == green, "tev shows another picture")
    last = events("r.jsonl")[-1]
    check((last["event"], last["status"], last["output"]) == ("end", 0, "a.pfm"), "the last event: %s" % last)
    done = run("render", "nosuch.xml", "-o", "b.pfm", "--events", "bad.jsonl")
    check(done.returncode == 1 and events("bad.jsonl")[-1]["status"] == 1, "events of a failure")


def fitting():
    viewer = Viewer()
    done = run("fit", "job.json", "-o", "out", "--events", "f.jsonl", "--tev", "127.0.0.1:%d" % viewer.port)
    viewer.end()
    check(done.returncode == 0, done.stderr)
    check(set(viewer.sizes) == {"target", "before", "fit", "after"}, "pictures in tev: %s" % sorted(viewer.sizes))
    told = events("f.jsonl")
    check([e["step"] for e in told if e["event"] == "step"] == [1, 2, 3, 4, 5], "steps: %s" % told)
    with open("out/result.json", encoding="utf-8") as f:
        result = json.load(f)
    check(told[-1]["event"] == "end" and told[-1]["rmse"] == result["evaluation"]["after"]["rmse"]
          and told[-2]["loss"] == result["last_loss"], "the end of events: %s" % told[-2:])


def gone():
    viewer = Viewer(packets=1)
    done = run("fit", "job.json", "-o", "out", "--tev", "127.0.0.1:%d" % viewer.port)
    viewer.end()
    check(done.returncode == 0, "a viewer that was closed ends a fit: %s" % done.stderr)
    done = run("fit", "job.json", "-o", "never", "--tev", "127.0.0.1:%d" % viewer.port)
    check(done.returncode == 1 and "cannot reach tev at 127.0.0.1:" in done.stderr and not os.path.exists("never"),
          "no viewer: %d %s" % (done.returncode, done.stderr))


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("scene.xml", "w", encoding="utf-8") as f:
            f.write(SCENE)
        with open("job.json", "w", encoding="utf-8") as f:
            json.dump(JOB, f)
        rendering()
        fitting()
        gone()
        os.chdir("/")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
