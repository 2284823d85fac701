# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""Fits: they find colours, go on from a file with the same bytes, and survive an interruption."""
import os
import signal
import threading

import numpy as np
import pytest

import backlight as bl
from conftest import GREEN, RED

GREY = [.5, .5, .5]


@pytest.fixture
def target(box):
    return bl.render(box, 256, 1000)


def make(box, target, **more):
    return bl.Fit(box, {RED: {"initial": GREY, "rate": .05}, GREEN: {"initial": GREY}}, target, spp=8, rate=.02, **more)


def test_colours_are_found(box, target):
    fit = make(box, target, form="fused").run(60, progress=False)
    truth = bl.traverse(box)
    assert np.abs(fit[RED] - truth[RED]).max() < .08 and fit.status["step"] == 60 and len(fit.losses) == 60
    assert bl.compare(fit.render(0, 256), target)["psnr"] > bl.compare(make(box, target).render(0, 256), target)["psnr"] + 3
    assert RED in repr(fit) and "step 60" in fit._repr_html_()
    assert fit.render(0, 4).shape == (16, 16, 3)
    bl.traverse(box).update(fit.values())
    assert bl.traverse(box)[RED].tobytes() == fit[RED].tobytes()


def test_restore_gives_the_same_bytes(box, target, tmp_path):
    fit = make(box, target).run(4)
    fit.save(tmp_path / "fit.state")
    fit.run(3)
    again = make(box, target)
    again.restore(tmp_path / "fit.state")
    assert again.run(3)[RED].tobytes() == fit[RED].tobytes()
    with pytest.raises(bl.Error):
        bl.Fit(box, [RED], target, spp=8).restore(tmp_path / "fit.state")


def interrupt_after(seconds):
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def test_interrupted_fit_goes_on(box, target):
    whole = make(box, target).run(40)
    fit = make(box, target)
    fit.step()
    with pytest.raises(KeyboardInterrupt):
        interrupt_after(.05)
        fit.run(10**6)
    done = fit.status["step"]
    assert done >= 1 and len(fit.losses) in (done, done - 1)
    if done < 40:
        assert fit.run(40 - done)[RED].tobytes() == whole[RED].tobytes()


def test_interrupted_render(box):
    job = bl.Job(box)
    expected = job.render(4, 1)
    with pytest.raises(KeyboardInterrupt):
        interrupt_after(.3)
        job.render(2**22, 1)
    assert job.render(4, 1).tobytes() == expected.tobytes()


def test_views(box, target):
    fit = bl.Fit(box, [RED], views=[target, {"target": target, "held_out": True}], spp=4)
    assert fit.run(2).status["step"] == 2 and fit.render(1, 4).shape == (16, 16, 3)


def test_progress(box, target, capsys):
    seen = []
    bl.render(box, 512, progress=seen.append)
    assert seen and seen[-1] == 1 and seen == sorted(seen)
    with pytest.raises(bl.Cancelled):
        bl.render(box, 2**22, progress=lambda done: False)
    with pytest.raises(ZeroDivisionError):
        bl.render(box, 2**22, progress=lambda done: 1 / 0)
    fit = make(box, target)
    with pytest.raises(bl.Cancelled, match="after step 2"):
        fit.run(4, progress=lambda done: done < .5)
    fit.run(2)
    assert fit.status["step"] == 4
    assert capsys.readouterr().err == ""  # scripts have no bar
    bl.Job(box).render(2**16, progress=True)
    assert "render" in capsys.readouterr().err
