/* LABELS: swiftshader=long native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Moving edges with hide_emitters (support/edge_cases.h): the camera looks through a lamp that stands before
 * what it lights, and sees neither the lamp nor what light the lamp reflects. */
#include "support/edge_cases.h"

#define HIDDEN                                                                                               \
    "<shape type='rectangle' id='lamp'>" AT(                                                                 \
        "<scale value='.4'/><rotate x='1' angle='180'/><translate value='.3,.1,1.5'/>") "<bsdf "             \
                                                                                        "type='diffuse'/>"   \
                                                                                        "<emitter "          \
                                                                                        "type='area'><rgb "  \
                                                                                        "name='radiance' "   \
                                                                                        "value='10'/>"       \
                                                                                        "</emitter></shape>"
#define BODY WALL BALL("<translate value='.07,.1,.2'/>") HIDDEN

static const edge_case_in cases[] = {
    {{"a ball behind a hidden lamp", "3", FRONT, BODY, "it.to_world", {1, .2, .3}, 64, .01}, "path"},
    {{"the hidden lamp moves", "3", FRONT, BODY, "lamp.to_world", {1, .2, .3}, 64, .01}, "path"},
    {{"the camera moves", "3", FRONT, BODY, "sensor.translation", {1, .2, .3}, 512, .005}, "path"},
};

int main(void)
{
    edge_case_integrator("<boolean name='hide_emitters' value='true'/>");
    return edge_cases_run("edges and hidden lights", cases, sizeof cases / sizeof *cases);
}
