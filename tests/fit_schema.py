# LABELS: nodevice
# SPDX-License-Identifier: BSD-3-Clause
"""The schema of fit jobs and the program agree: of a table of good and bad jobs both accept and refuse the
same, and each refusal of the program names the file and the key. A good job is one whose scene is looked for
(there is none, so no device is needed)."""
import copy
import glob
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
PROGRAM = os.environ.get("BL_PROGRAM", os.path.join(ROOT, "build", "backlight"))
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool}
KNOWN = {"$schema", "title", "description", "definitions", "type", "required", "properties",
         "additionalProperties", "items", "minItems", "minProperties",
         "maxItems", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
         "minLength", "oneOf", "$ref", "examples"}


def is_number(v):
    return isinstance(v, (int, float)) and not isinstance(v, bool)


def right_type(v, name):
    if name == "number":
        return is_number(v)
    if name == "integer":
        return is_number(v) and v == int(v)
    return isinstance(v, TYPES[name])


def valid(v, s, root):
    """JSON Schema draft 7, as much of it as the schema uses."""
    unknown = set(s) - KNOWN
    assert not unknown, "the test does not know %s" % unknown
    if "$ref" in s and not valid(v, root["definitions"][s["$ref"].split("/")[-1]], root):
        return False
    if "type" in s and not right_type(v, s["type"]):
        return False
    if ("enum" in s and v not in s["enum"]
            or "const" in s and (v != s["const"] or type(v) is not type(s["const"]))):
        return False
    if "oneOf" in s and sum(valid(v, one, root) for one in s["oneOf"]) != 1:
        return False
    if is_number(v):
        if v < s.get("minimum", v) or v > s.get("maximum",
                                                v) or "exclusiveMinimum" in s and v <= s["exclusiveMinimum"]:
            return False
        return not ("exclusiveMaximum" in s and v >= s["exclusiveMaximum"])
    if isinstance(v, str):
        return len(v) >= s.get("minLength", 0)
    if isinstance(v, list):
        return (s.get("minItems", 0) <= len(v) <= s.get("maxItems", len(v))
                and all(valid(one, s.get("items", {}), root) for one in v))
    if isinstance(v, dict):
        if len(v) < s.get("minProperties", 0):
            return False
        properties, others = s.get("properties", {}), s.get("additionalProperties", True)
        for key, value in v.items():
            if key in properties:
                if not valid(value, properties[key], root):
                    return False
            elif others is False or isinstance(others, dict) and not valid(value, others, root):
                return False
        return all(key in v for key in s.get("required", []))
    return True


BASE = {"scene": "no_such_scene.xml", "target": "t.exr", "steps": 3, "parameters": [{"name": "a"}]}
LOOK = {"origin": [0, 0, 3], "target": [0, 0, 0], "up": [0, 1, 0]}
POSE = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]


def change(path, value):
    """BASE with the value at a path of keys; None removes the key."""
    job = copy.deepcopy(BASE)
    at = job
    for key in path[:-1]:
        at = at[key]
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return job


def views(*list_):
    job = copy.deepcopy(BASE)
    del job["target"]
    job["views"] = list(list_)
    return job


def stages(*list_):
    job = copy.deepcopy(BASE)
    del job["steps"]
    job["stages"] = list(list_)
    return job


GOOD = [
    BASE,
    change(["$schema"], "x"),
    change(["defines"], {"a": "b", "c": "", "d": 3, "e": 0.25, "f": True}),
    change(["target"], {"render": True, "spp": 1, "seed": 0}),
    change(["parameters", 0], {"name": "a", "initial": [1, 2.5, -3], "bounds": [-1e9, 1e9], "rate": 1e-9}),
    change(["parameters", 0, "large_steps"], {"lambda": 19}),
    change(["parameters", 0, "large_steps"], {"lambda": 0.5, "fixed": "yx"}),
    change(["parameters", 0, "initial"], 0),
    change(["spp"], 4294967295), change(["spp_grad"], 1), change(["seed"], 4294967295), change(["seed"], 0),
    change(["steps"], 1), change(["steps"], 1000000000),
    change(["output"], "somewhere"), change(["checkpoint_steps"], 5), change(["common_random_numbers"], True),
    views({"target": "a.exr"}), change(["mask"], "m.png"),
    change(["target"], {"image": "a.png", "encoding": "linear"}), change(["target"], {"image": "a.exr"}),
    views({"target": {"image": "a.PNG", "encoding": "srgb"}, "mask": "m.exr", "weight": 0.5}),
    views({"target": "a.exr", "sensor": 0}, {"target": {"render": True}, "sensor": 7, "to_world": LOOK},
          {"target": "b.exr", "to_world": POSE}),
    stages({"steps": 1}), stages({"steps": 3, "resolution": {"a": [8, 8]}}, {"steps": 5, "resolution": {}},
                                 {"steps": 2, "resolution": {"a": [1, 65536, 3]}}),
    change(["parameters", 0], {"name": "a", "total_variation": 0.1}),
    change(["parameters", 0], {"name": "a", "total_variation": 3, "smoothing": 1e-6}),
    change(["parameters", 0, "prior"], {"type": "l2", "weight": 1e-3}),
    change(["parameters", 0, "prior"], {"type": "l1", "weight": 5, "centre": -0.5}),
    change(["stop"], {"window": 2}), change(["stop"], {"window": 9, "improvement": 0.5}),
    views({"target": "a"}, {"target": "b"}) | {"held_out": [1], "stop": {"patience": 1}},
    views({"target": "a"}, {"target": "b"}) | {"held_out": [1], "stop": {"patience": 7, "window": 1000000}},
    change(["groups"], []), change(["groups"], [{"parameters": "*"}, {"parameters": "?", "rate": 2, "beta_1": 0.5, "bounds": [0, 1]}]),
    change(["groups"], [{"parameters": "a", "prior": {"type": "l1", "weight": 2}, "total_variation": 1, "smoothing": 1, "beta_2": 0.9}]),
    change(["parameters", 0, "sparse"], True), change(["groups"], [{"parameters": "a", "sparse": False}]),
    change(["parameters", 0, "beta_1"], 0.5), change(["parameters", 0, "beta_2"], 0.5),
    change(["batch"], 1), change(["background"], [0, 0.5, 1e3]), change(["silhouette"], True),
    change(["silhouette"], False), change(["silhouette"], ["ball", "it"]), change(["held_out_steps"], 7),
    change(["variance_steps"], 10), change(["average"], 5), change(["average"], "auto"), change(["recursive_images"], True),
    change(["adaptive_samples"], {"noise": 0.5}), change(["adaptive_samples"], {"noise": 2, "least": 4}),
    views({"target": "a"}, {"target": "b"}) | {"held_out": [1]}, views({"target": "a"}) | {"held_out": []},
    change(["schedule"], []), change(["schedule"], [{"step": 1, "factor": 0.5}, {"step": 2, "factor": 2, "samples": 2}]),
]
for form in ("auto", "fused", "separate", "two-walk", "one-image"):
    GOOD.append(change(["form"], form))
for motion in ("rigid", "similarity", "free"):
    GOOD.append(change(["parameters", 0, "motion"], motion))
for pixels in ("uniform", "adjoint"):
    GOOD.append(change(["pixels"], pixels))
for sampler in ("scene", "auto", "independent", "stratified", "multijitter", "orthogonal", "ldsampler", "paddedsobol"):
    GOOD.append(change(["sampler"], sampler))
for how in ("auto", "replay", "drt"):
    GOOD.append(change(["volume_gradient"], how))
for name in ("l2", "l1", "relative_l2", "huber"):
    GOOD += [change(["loss"], name), change(["loss"], {"type": name}), change(["loss"], [name]),
             change(["loss"], {"type": name, "weight": 3, "levels": 8}),
             change(["loss"], ["l1", {"type": name, "weight": 1e-9, "levels": [1, 0, 0.5]}])]
GOOD += [change(["loss"], ["l2"] * 8), change(["loss"], [{"type": "huber", "delta": 2, "levels": 1}, "huber"])]
GOOD += [change(["loss"], {"type": "relative_l2", "epsilon": 1}),
         change(["loss"], {"type": "huber", "delta": 0.01})]
GOOD += [change(["optimizer"], o) for o in (
    {"type": "adam"}, {"type": "adam", "rate": 1, "beta_1": 0.5, "beta_2": 0.5, "epsilon": 1},
    {"type": "sgd"},
    {"type": "sgd", "rate": 1, "momentum": 0}, {"type": "sgd", "momentum": 0.9, "nesterov": True},
    {"type": "rmsprop", "rate": 1, "alpha": 0.9, "epsilon": 1})]

# (job, what the message must name)
BAD = [
    ([], "object"), ({}, "missing key"), (change(["scene"], None), "scene: missing"),
    (change(["\x1b]0;title\x07\x9b31m"], 3), "?]0;title???31m: unknown key"), (change(["scene"], 3), "scene:"), (change(["scene"], ""), "scene:"),
    (change(["target"], None), "target: missing"), (change(["target"], 3), "target:"),
    (change(["target"], {}), "target.render: missing"),
    (change(["target"], {"render": False}), "target.render:"),
    (change(["target"], {"render": True, "spp": 0}), "target.spp:"),
    (change(["target"], {"render": True, "ssp": 3}), 'target.ssp: unknown key (did you mean "spp"'),
    (change(["target"], {"render": True, "seed": -1}), "target.seed:"),
    (dict(BASE, views=[{"target": "a"}]), "target: give either"),
    (views(), "views:"), (change(["views"], 3) | {"target": "x"}, "target: give either"),
    (views(3), "views[0]"), (views({}), "views[0].target: missing"),
    (views({"target": "a"}, {"target": 1}), "views[1].target:"),
    (views({"target": {"render": 1}}), "views[0].target.render:"),
    (views({"target": "a", "sensor": -1}), "views[0].sensor:"),
    (views({"target": "a", "sensor": "x"}), "views[0].sensor:"),
    (views({"target": "a", "to_world": [1, 2, 3]}), "views[0].to_world:"),
    (views({"target": "a", "to_world": POSE + [0]}), "views[0].to_world:"),
    (views({"target": "a", "to_world": dict(LOOK, up=[0, 1])}), "views[0].to_world.up:"),
    (views({"target": "a", "to_world": {"origin": [0, 0, 0], "up": [0, 1, 0]}}),
     "views[0].to_world.target: missing"),
    (views({"target": "a", "to_world": dict(LOOK, roll=1)}), "views[0].to_world.roll: unknown"),
    (views({"target": "a", "name": "b"}), "views[0].name: unknown"),
    (views({"target": "a", "weight": 0}), "views[0].weight:"), (views({"target": "a", "mask": 3}), "views[0].mask:"),
    (change(["mask"], ""), "mask:"), (change(["target"], {"image": 3}), "target.image:"),
    (change(["target"], {"image": "a.png", "encoding": "log"}), 'target.encoding: unknown encoding "log"'),
    (change(["target"], {"image": "a.png", "spp": 3}), "target.spp: unknown"),
    (change(["steps"], None), "steps: missing"), (change(["steps"], 0), "steps:"),
    (change(["steps"], 1.5), "steps:"), (change(["steps"], "3"), "steps:"),
    (change(["steps"], 1000000001), "steps: must be a whole number from 1 to 1000000000"),
    (change(["steps"], 4294967295), "steps:"), (change(["steps"], 4294967296), "steps:"),
    (change(["spp"], 0), "spp:"),
    (change(["common_random_numbers"], 1), "common_random_numbers:"),
    (change(["spp_grad"], True), "spp_grad:"), (change(["seed"], -1), "seed:"),
    (change(["seed"], 4294967296), "seed:"), (change(["checkpoint_steps"], 0), "checkpoint_steps:"),
    (change(["output"], ""), "output:"),
    (change(["stepz"], 3), 'stepz: unknown key (did you mean "steps"'), (change(["defines"], []), "defines:"),
    (change(["defines"], {"a": [1]}), "defines.a:"),
    (change(["parameters"], None), "parameters: missing"), (change(["parameters"], []), "parameters:"),
    (change(["parameters"], ["a"]), "parameters[0]"),
    (change(["parameters", 0], {}), "parameters[0].name: missing"),
    (change(["parameters", 0, "nam"], "b"), 'parameters[0].nam: unknown key (did you mean "name"'),
    (change(["parameters", 0, "initial"], "x"), "parameters[0].initial:"),
    (change(["parameters", 0, "initial"], []), "parameters[0].initial:"),
    (change(["parameters", 0, "initial"], [1, "x"]), "parameters[0].initial:"),
    (change(["parameters", 0, "bounds"], [1]), "parameters[0].bounds:"),
    (change(["parameters", 0, "bounds"], ["a", "b"]), "parameters[0].bounds:"),
    (change(["parameters", 0, "rate"], 0), "parameters[0].rate:"),
    (change(["parameters", 0, "rate"], -1), "parameters[0].rate:"),
    (change(["parameters", 0, "motion"], "stiff"), "parameters[0].motion: unknown motion"),
    (change(["parameters", 0, "motion"], True), "parameters[0].motion:"),
    (change(["parameters", 0, "prior"], "l2"), "parameters[0].prior:"),
    (change(["parameters", 0, "prior"], {"type": "none", "weight": 1}), 'prior.type: unknown prior "none"'),
    (change(["parameters", 0, "prior"], {"type": "l2"}), "parameters[0].prior.weight: missing"),
    (change(["parameters", 0, "prior"], {"type": "l2", "weight": -1}), "parameters[0].prior.weight:"),
    (change(["parameters", 0, "prior"], {"type": "l2", "weight": 1, "centre": "x"}), "parameters[0].prior.centre:"),
    (change(["stop"], 3), "stop:"), (change(["stop"], {}), "stop.window: give a window"),
    (change(["stop"], {"window": 1}), "stop.window:"), (change(["stop"], {"window": 1000001}), "stop.window:"),
    (change(["stop"], {"window": 2, "improvement": 0}), "stop.improvement:"),
    (change(["stop"], {"window": 2, "patience": 0}), "stop.patience:"), (change(["stop"], {"windw": 2}), "stop.windw: unknown"),
    (change(["groups"], {}), "groups:"), (change(["groups"], ["a"]), "groups[0]"),
    (change(["groups"], [{"rate": 1}]), "groups[0].parameters: missing"), (change(["groups"], [{"parameters": 3}]), "groups[0].parameters:"),
    (change(["groups"], [{"parameters": "a"}, {"parameters": "*", "rate": 0}]), "groups[1].rate:"),
    (change(["groups"], [{"parameters": "a", "beta_1": 1}]), "groups[0].beta_1:"),
    (change(["groups"], [{"parameters": "a", "bounds": [1]}]), "groups[0].bounds:"),
    (change(["groups"], [{"parameters": "a", "prior": {"type": "l2"}}]), "groups[0].prior.weight: missing"),
    (change(["groups"], [{"parameters": "a", "initial": 1}]), "groups[0].initial: unknown"),
    (change(["parameters", 0, "sparse"], 1), "parameters[0].sparse:"), (change(["groups"], [{"parameters": "a", "sparse": "x"}]), "groups[0].sparse:"),
    (change(["parameters", 0, "beta_1"], 0), "parameters[0].beta_1:"),
    (change(["parameters", 0, "large_steps"], {}), "parameters[0].large_steps.lambda:"),
    (change(["parameters", 0, "large_steps"], 19), "parameters[0].large_steps:"),
    (change(["parameters", 0, "large_steps"], {"lambda": 0}), "parameters[0].large_steps.lambda:"),
    (change(["parameters", 0, "large_steps"], {"lambda": 1, "fixed": "xyz"}),
     "parameters[0].large_steps.fixed:"),
    (change(["parameters", 0, "large_steps"], {"lambda": 1, "fixed": "xx"}),
     "parameters[0].large_steps.fixed:"),
    (change(["loss"], 2), "loss:"),
    (change(["loss"], "l3"), 'loss: unknown loss "l3" (there are: l2, l1, relative_l2, huber)'),
    (change(["loss"], {}), "loss.type: missing"),
    (change(["loss"], []), "loss: must have 1 to 8 terms"), (change(["loss"], ["l2"] * 9), "loss: must have 1 to 8"),
    (change(["loss"], ["l2", "l3"]), 'loss[1]: unknown loss "l3"'), (change(["loss"], ["l2", 3]), "loss[1]:"),
    (change(["loss"], ["l2", ["l1"]]), "loss[1]:"), (change(["loss"], [{"weight": 1}]), "loss[0].type: missing"),
    (change(["loss"], [{"type": "l1", "weight": 0}]), "loss[0].weight:"),
    (change(["loss"], [{"type": "l1", "delta": 1}]), "loss[0].delta: unknown"),
    (change(["loss"], [{"type": "l1", "levels": 0}]), "loss[0].levels:"),
    (change(["loss"], {"type": "l1", "levels": 9}), "loss.levels:"),
    (change(["loss"], {"type": "l1", "levels": 1.5}), "loss.levels:"),
    (change(["loss"], {"type": "l1", "levels": []}), "loss.levels:"),
    (change(["loss"], {"type": "l1", "levels": [1, -1]}), "loss.levels:"),
    (change(["loss"], {"type": "l1", "levels": [1, "x"]}), "loss.levels:"),
    (change(["loss"], {"type": "l1", "levels": True}), "loss.levels:"),
    (change(["loss"], {"type": 1}), "loss.type:"),
    (change(["loss"], {"type": "l2", "delta": 1}), "loss.delta: unknown"),
    (change(["loss"], {"type": "huber", "delta": 0}), "loss.delta:"),
    (change(["loss"], {"type": "huber", "delta": 1e-320}), "loss.delta:"),
    (change(["optimizer"], {"type": "adam", "rate": 1e300}), "optimizer.rate:"),
    (change(["optimizer"], {"type": "adam", "epsilon": 1e-40}), "optimizer.epsilon:"),
    (change(["parameters", 0, "rate"], 1e39), "parameters[0].rate:"),
    (change(["schedule"], [{"step": 1, "factor": 1e39}]), "schedule[0].factor:"),
    (change(["loss"], {"type": "huber", "epsilon": 1}), "loss.epsilon: unknown"),
    (change(["loss"], {"type": "relative_l2", "epsilon": -1}), "loss.epsilon:"),
    (change(["form"], "walk"), 'form: unknown form "walk" (there are: auto, fused, separate, two-walk, '
                               'one-image)'), (change(["form"], 1), "form:"),
    (change(["pixels"], "all"), 'pixels: unknown choice "all" (there are: uniform, adjoint)'),
    (change(["pixels"], 1), "pixels:"),
    (change(["volume_gradient"], "ddt"), 'volume_gradient: unknown way "ddt" (there are: auto, replay, drt)'),
    (change(["volume_gradient"], 1), "volume_gradient:"),
    (change(["sampler"], "sobol"), 'sampler: unknown sampler "sobol" (there are: scene, auto, '), (change(["sampler"], 1), "sampler:"),
    (change(["optimizer"], "adam"), "optimizer:"), (change(["optimizer"], {}), "optimizer.type: missing"),
    (change(["optimizer"], {"type": 1}), "optimizer.type:"),
    (change(["optimizer"], {"type": "adamw"}),
     'optimizer.type: unknown optimizer "adamw" (there are: adam, sgd, rmsprop)'),
    (change(["optimizer"], {"type": "adam", "beta_1": 1}), "optimizer.beta_1:"),
    (change(["optimizer"], {"type": "adam", "beta_2": 0}), "optimizer.beta_2:"),
    (change(["optimizer"], {"type": "adam", "momentum": 0.9}), "optimizer.momentum: unknown"),
    (change(["optimizer"], {"type": "adam", "epsilon": 0}), "optimizer.epsilon:"),
    (change(["optimizer"], {"type": "sgd", "momentum": 1}), "optimizer.momentum:"),
    (change(["optimizer"], {"type": "sgd", "nesterov": 1}), "optimizer.nesterov:"),
    (change(["optimizer"], {"type": "sgd", "epsilon": 1}), "optimizer.epsilon: unknown"),
    (change(["optimizer"], {"type": "rmsprop", "alpha": 1}), "optimizer.alpha:"),
    (change(["optimizer"], {"type": "rmsprop", "rate": 0}), "optimizer.rate:"),
    (change(["schedule"], {}), "schedule:"), (change(["schedule"], [3]), "schedule[0]"),
    (change(["schedule"], [{"step": 1}]), "schedule[0].factor: missing"),
    (change(["schedule"], [{"step": 0, "factor": 1}]), "schedule[0].step:"),
    (change(["schedule"], [{"step": 1, "factor": 0}]), "schedule[0].factor:"),
    (change(["schedule"], [{"step": 1, "factor": 1, "samples": 0}]), "schedule[0].samples:"),
    (change(["schedule"], [{"step": 1, "factor": 1, "x": 1}]), "schedule[0].x: unknown"),
    (dict(BASE, stages=[{"steps": 1}]), "steps: give either"), (stages(), "stages:"),
    (stages(3), "stages[0]"),
    (stages({}), "stages[0].steps: missing"), (stages({"steps": 0}), "stages[0].steps:"),
    (stages({"steps": 4294967295}), "stages[0].steps:"),
    (stages({"steps": 1}, {"steps": 1, "rate": 1}), "stages[1].rate: unknown"),
    (stages({"steps": 1, "resolution": [8, 8]}), "stages[0].resolution:"),
    (stages({"steps": 1, "resolution": {"a": 8}}), "stages[0].resolution.a:"),
    (stages({"steps": 1, "resolution": {"a": [8]}}), "stages[0].resolution.a:"),
    (stages({"steps": 1, "resolution": {"a": [8, 8, 8, 1]}}), "stages[0].resolution.a:"),
    (stages({"steps": 1, "resolution": {"a": [8, 0]}}), "stages[0].resolution.a:"),
    (stages({"steps": 1, "resolution": {"a": [8, 2.5]}}), "stages[0].resolution.a:"),
    (stages({"steps": 1, "resolution": {"a": [8, "8"]}}), "stages[0].resolution.a:"),
    (stages({"steps": 1, "resolution": {"a": [8, 65537]}}), "stages[0].resolution.a:"),
    (change(["batch"], 0), "batch:"), (change(["batch"], 0.5), "batch:"),
    (change(["held_out_steps"], 0), "held_out_steps:"), (change(["variance_steps"], 0), "variance_steps:"),
    (change(["average"], 0), "average:"), (change(["average"], "mean"), "average:"), (change(["average"], 2.5), "average:"), (change(["recursive_images"], 1), "recursive_images:"),
    (change(["adaptive_samples"], {}), "adaptive_samples."), (change(["adaptive_samples"], 2), "adaptive_samples:"),
    (change(["adaptive_samples"], {"noise": 0}), "adaptive_samples.noise:"),
    (change(["adaptive_samples"], {"noise": 1, "least": 0}), "adaptive_samples.least:"),
    (change(["silhouette"], "ball"), "silhouette:"), (change(["silhouette"], []), "silhouette:"),
    (change(["silhouette"], [1]), "silhouette:"), (change(["silhouette"], [""]), "silhouette:"),
    (change(["background"], 1), "background:"), (change(["background"], [1, 1]), "background:"),
    (change(["background"], [1, 1, "x"]), "background:"),
    (views({"target": "a"}, {"target": "b"}) | {"held_out": 1}, "held_out:"),
    (views({"target": "a"}, {"target": "b"}) | {"held_out": [0.5]}, "held_out:"),
    (views({"target": "a"}, {"target": "b"}) | {"held_out": [-1]}, "held_out:"),
    (views({"target": "a"}, {"target": "b"}) | {"held_out": ["1"]}, "held_out:"),
    (change(["parameters", 0, "total_variation"], 0), "parameters[0].total_variation:"),
    (change(["parameters", 0, "smoothing"], "x"), "parameters[0].smoothing:"),
]
# what a schema cannot say: relations between values
BAD_BEYOND_SCHEMA = [
    (change(["target"], {"image": "a.png", "encoding": "linear"}) | {"background": [0, 0, 0]}, "target.encoding: linear"),
    (change(["target"], {"image": "a.exr", "encoding": "linear"}), "target.encoding: is of PNG"),
    (views({"target": "a"}) | {"mask": "b"}, "mask: is of `target`"),
    (change(["parameters", 0, "bounds"], [1, 0]), "parameters[0].bounds:"),
    (change(["optimizer"], {"type": "sgd", "nesterov": True}), "optimizer.nesterov:"),
    (stages({"steps": 1, "resolution": {"b": [8, 8]}}),
     "stages[0].resolution.b: is not among the parameters"),
    (stages({"steps": 1000000000}, {"steps": 1}), "stages[1].steps:"),
    (change(["schedule"], [{"step": 5, "factor": 1}, {"step": 5, "factor": 1}]), "schedule[1].step:"),
    (views({"target": "a"}, {"target": "b"}) | {"held_out": [2]}, "held_out: there is no such view"),
    (views({"target": "a"}, {"target": "b"}) | {"held_out": [1, 1]}, "held_out: view 1 is named twice"),
    (views({"target": "a"}, {"target": "b"}) | {"held_out": [1, 0]}, "held_out: names all views"),
    (change(["held_out"], [0]), "held_out: must be a list of numbers of views"),
    (views({"target": "a", "to_world": dict(LOOK, up=[0, 0, 1])}), "views[0].to_world.up:"),
    (views({"target": "a", "to_world": dict(LOOK, origin=[0, 0, 0])}), "views[0].to_world.up:"),
]


def run(folder, job):
    with open(os.path.join(folder, "job.json"), "w", encoding="utf-8") as f:
        json.dump(job, f)
    return subprocess.run([PROGRAM, "fit", "job.json", "-o", "out"], cwd=folder, capture_output=True,
                          text=True, timeout=60)


def main():
    with open(os.path.join(ROOT, "docs", "fit-job.schema.json"), encoding="utf-8") as f:
        schema = json.load(f)
    problems = []
    jobs = [j for j in glob.glob(os.path.join(ROOT, "assets", "*", "*.json"))
            if not os.path.basename(j).startswith(("transforms", "design"))]
    assert len(jobs) >= 4, "the jobs of assets/ were not found"
    for name in jobs:
        with open(name, encoding="utf-8") as f:
            if not valid(json.load(f), schema, schema):
                problems.append("%s does not follow the schema" % name)
    with tempfile.TemporaryDirectory() as folder:
        for job in GOOD:
            r = run(folder, job)
            if not valid(job, schema, schema):
                problems.append("the schema refuses %s" % json.dumps(job))
            if r.returncode != 1 or "no_such_scene.xml" not in r.stderr:
                problems.append("the program refuses %s: %s" % (json.dumps(job), r.stderr))
        for by_schema, list_ in ((True, BAD), (False, BAD_BEYOND_SCHEMA)):
            for job, named in list_:
                r = run(folder, job)
                if valid(job, schema, schema) == by_schema:
                    problems.append("the schema's verdict on %s is not expected" % json.dumps(job))
                if (r.returncode != 1 or "job.json: " not in r.stderr or named not in r.stderr
                        or r.stderr.count("\n") != (2 if job == {} else 1)):  # all mistakes, each in a line
                    problems.append("expected '%s' for %s: %s" % (named, json.dumps(job), r.stderr))
        if os.path.exists(os.path.join(folder, "out")):
            problems.append("a refused job left its folder behind")
    for p in problems:
        print(p)
    print("%d good jobs, %d bad ones, %d problems" % (len(GOOD), len(BAD) + len(BAD_BEYOND_SCHEMA),
                                                      len(problems)))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
