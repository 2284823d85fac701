# SPDX-License-Identifier: BSD-3-Clause
"""The scenes of metropolis.py, as text: light that paths from the camera find by chance alone."""

HEAD = '''<scene version="3.0.0">
    <default name="integrator" value="path"/>
    <default name="width" value="128"/>
    <default name="height" value="96"/>
    <integrator type="$integrator"><integer name="max_depth" value="%d"/>%s</integrator>
    <sensor type="perspective">
        <float name="fov" value="%g"/>
        <transform name="to_world"><lookat origin="%s" target="%s" up="0,1,0"/></transform>
        <film type="hdrfilm"><integer name="width" value="$width"/><integer name="height" value="$height"/>
            <rfilter type="box"/></film>
    </sensor>
'''


def diffuse(reflectance):
    return ('<bsdf type="twosided"><bsdf type="diffuse"><rgb name="reflectance" value="%s"/></bsdf></bsdf>' %
            reflectance)


def metal(material):
    return ('<bsdf type="twosided"><bsdf type="conductor"><string name="material" value="%s"/></bsdf></bsdf>' %
            material)


def rectangle(width, height, axis, angle, place, inside):
    return ('<shape type="rectangle"><transform name="to_world"><scale x="%g" y="%g"/><rotate %s="1" angle="%g"/>'
            '<translate x="%g" y="%g" z="%g"/></transform>%s</shape>\n' %
            (width, height, axis, angle, *place, inside))


def sphere(radius, place, inside):
    return ('<shape type="sphere"><float name="radius" value="%g"/><point name="center" x="%g" y="%g" z="%g"/>%s'
            '</shape>\n' % (radius, *place, inside))


def lamp(radiance):
    return '<emitter type="area"><rgb name="radiance" value="%s"/></emitter>' % radiance


WHITE, RED, GREEN, BLUE = (diffuse(c) for c in (".75,.73,.7", ".7,.25,.2", ".3,.6,.3", ".5,.5,.7"))
GLASS, MIRROR = '<bsdf type="dielectric"/>', metal("none")
FLOOR, WALL = rectangle(6, 6, "x", -90, (0, 0, 0), WHITE), rectangle(6, 6, "x", 0, (0, 3, -4), WHITE)
RING = ('<shape type="cylinder"><point name="p0" x="0" y="0" z="0"/><point name="p1" x="0" y=".6" z="0"/>'
        '<float name="radius" value="1.1"/>%s</shape>\n' % metal("Cu"))
BLOCK = ('<shape type="cube"><transform name="to_world"><scale x=".7" y=".7" z=".7"/><rotate y="1" angle="25"/>'
         '<translate y=".71"/></transform>%s</shape>\n' % GLASS)
GAP = .12  # half the width of the door's

# name: what it is, then depth, field of view, eye, target, and shapes
SCENES = {
    "ball": ("a ball of glass, and a small lamp", 8, 40, "0,4,7", ".3,.6,0",
             FLOOR + WALL + sphere(1, (0, 1, 0), GLASS) + sphere(.12, (-2.5, 5, 1.5), lamp("900,800,650"))),
    "globe": ("a lamp in a globe of glass, which lights a room", 10, 50, "0,2.2,6.5", "0,1.6,0",
              FLOOR + WALL + rectangle(4, 4, "y", 90, (-3.5, 3, 0), RED) +
              rectangle(4, 4, "y", -90, (3.5, 3, 0), GREEN) + rectangle(6, 6, "x", 90, (0, 5, 0), WHITE) +
              sphere(.7, (.4, 2.8, -.5), GLASS) + sphere(.08, (.4, 2.8, -.5), lamp("1500,1300,1000")) +
              sphere(.6, (-1.2, .6, .6), BLUE)),
    "door": ("a room that is lit through a door ajar", 10, 60, "0,2,5.2", "0,1.6,-2",
             FLOOR + rectangle(6, 6, "x", 90, (0, 4, 0), WHITE) + rectangle(6, 4, "y", 90, (-3, 2, 0), RED) +
             rectangle(6, 4, "y", -90, (3, 2, 0), GREEN) + rectangle(3, 4, "y", 180, (0, 2, 6), WHITE) +
             rectangle(1.5 - GAP, 2, "x", 0, (-1.5 - GAP, 2, -2), WHITE) +
             rectangle(1.5 - GAP, 2, "x", 0, (1.5 + GAP, 2, -2), WHITE) + rectangle(3, 4, "x", 0, (0, 2, -6), WHITE) +
             rectangle(.5, .5, "x", 90, (2, 3.9, -4.5), lamp("60,52,40")) + sphere(.7, (1, .7, .8), BLUE)),
    "mirrors": ("a lamp between mirrors, whose light leaves below them", 24, 45, "0,2.4,6", "0,1,0",
                FLOOR + WALL + rectangle(.5, 2, "y", 90, (-.5, 2, -1.5), MIRROR) +
                rectangle(.5, 2, "y", 90, (.5, 2, -1.5), MIRROR) + rectangle(.5, 2, "x", 0, (0, 2, -2), MIRROR) +
                rectangle(.5, 1.85, "x", 0, (0, 2.15, -1), MIRROR) +
                rectangle(.5, .5, "x", 90, (0, 4, -1.5), MIRROR) + sphere(.1, (0, 3.6, -1.5), lamp("1200,1000,800"))),
    "ring": ("a ring of copper, and a small lamp", 6, 38, "0,4,5", "0,.2,0",
             FLOOR + RING + sphere(.1, (3, 2.6, 1.2), lamp("700,640,560"))),
    "block": ("a pane and a block of glass, and a small lamp", 10, 42, "0,3,6.5", "0,1,0",
              FLOOR + WALL + rectangle(1, 1, "y", 90, (-2, 1.2, 0), '<bsdf type="thindielectric"/>') + BLOCK +
              sphere(.12, (-3.2, 3.4, .8), lamp("800,700,600"))),
}


def write(path, name, integrator="path", settings=""):
    """The scene as a file. settings: of the integrator, as XML."""
    _, depth, fov, eye, target, shapes = SCENES[name]
    head = HEAD.replace('value="path"', 'value="%s"' % integrator)
    with open(path, "w", encoding="utf-8") as f:
        f.write(head % (depth, settings, fov, eye, target) + shapes + "</scene>\n")
