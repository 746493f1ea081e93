"""Seed 505002, jit, on TEST: call 1, gradient of x0: 16 of 16 values differ; at 0 np.float64(0.0), expected np.float64(-0.051359918860793385), allowed 3.65e-16

With all checks: python -m fuzz --replay 505002 --device TEST"""

import numpy as np
from polygrad import Device, Graph, Tensor, TinyJit, Variable, scan
from polygrad.geometric.nn import MessagePassing
from polygrad.geometric.utils import scatter, softmax
from polygrad.nn import SGD, compile_step
from polygrad.vertex import zoomIn, zoomOut

nan, inf = np.nan, np.inf
Device.DEFAULT = "TEST"


def program(x0, x2):
    t0 = x0.sum(None, True)
    t1 = t0 @ x2
    t2 = t1.max(None, True)
    results = [t2]
    results += ((t2 * Tensor(np.array([[0.5]], "float64").reshape((1, 1)))).sum()).gradient(x0, materialize_grads=True)
    results[0].realize(*results[1:])
    return results


f = TinyJit(program)
alive = []
inputs = [
    Tensor(
        np.array(
            [
                [-1.6512148742015715, -1.6141413516384406, -1.3734604219492654, 1.7489528875795357],
                [-1.6503145512443966, 1.169325102891655, 1.798817493543555, 1.2523494031938758],
                [-0.5111779036523996, -0.9904913190493918, 0.5853179365516792, 0.8631769986378832],
                [0.14133446672826766, 1.066298671977615, 1.072671205625349, 1.144379306450214],
            ],
            "float64",
        ).reshape((4, 4))
    ),
    Tensor(np.array([[-0.10271983772158677, -0.6450760217709322]], "float64").reshape((1, 2))),
]
got = f(*inputs)
print("call 1", [t.numpy() for t in got], "without TinyJit", [t.numpy() for t in program(*[t.clone() for t in inputs])])
inputs = [
    Tensor(
        np.array(
            [
                [1.548846041611076, -0.5965686299754793, 0.2543728814257187, -1.8454714286704057],
                [0.08778866325351853, 1.6566900813495637, 1.8568923327781794, -1.9190658474590943],
                [-1.2869607205969942, 1.0249702673523977, 0.09297469497982647, -1.7458703713218608],
                [0.8913809264461645, -0.5259824563221467, -1.0271174088635853, 1.178820751283622],
            ],
            "float64",
        ).reshape((4, 4))
    ),
    Tensor(np.array([[0.5085860695731528, -0.1912918084530859]], "float64").reshape((1, 2))),
]
got = f(*inputs)
print("call 2", [t.numpy() for t in got], "without TinyJit", [t.numpy() for t in program(*[t.clone() for t in inputs])])
inputs = [
    Tensor(
        np.array(
            [
                [0.6249456612966573, 0.6557806671730333, -0.6860390102892557, -1.617002470020907],
                [-0.1435059321826171, -0.5599647142024939, 0.2909478896827973, -0.8743227976414087],
                [0.8708225219547292, -0.4913127159915014, 1.3902209386159692, 1.3062185543056501],
                [-0.43316798860718997, 1.1620840167756534, 0.27469964537308655, 0.244572350893264],
            ],
            "float64",
        ).reshape((4, 4))
    ),
    Tensor(np.array([[1.8129983933295368, -0.9283192979692121]], "float64").reshape((1, 2))),
]
got = f(*inputs)
print("call 3", [t.numpy() for t in got], "without TinyJit", [t.numpy() for t in program(*[t.clone() for t in inputs])])
inputs = [
    Tensor(
        np.array(
            [
                [-0.7821291831029531, 1.957884433432457, 0.8429137259353281, -1.4653854534614283],
                [-0.4431328055792574, 1.1320469373351565, 0.5986199570199426, 1.0668354952776222],
                [-0.47644037552114016, 0.26099584413466337, -1.4356716713093602, -0.1687825766135882],
                [0.4504126311731662, -0.03959317421068542, 0.3855938426290666, 0.3270225926614878],
            ],
            "float64",
        ).reshape((4, 4))
    ),
    Tensor(np.array([[1.5872460635478718, -0.6652736933762036]], "float64").reshape((1, 2))),
]
got = f(*inputs)
print("call 4", [t.numpy() for t in got], "without TinyJit", [t.numpy() for t in program(*[t.clone() for t in inputs])])
print(
    "expected, call 1, gradient of x0:",
    "[[-0.05135991886079339 -0.05135991886079339 -0.05135991886079339\n  -0.05135991886079339]\n [-0.05135991886079339 -0.05135991886079339 -0.05135991886079339\n  -0.05135991886079339]\n [-0.05135991886079339 -0.05135991886079339 -0.05135991886079339\n  -0.05135991886079339]\n [-0.05135991886079339 -0.05135991886079339 -0.05135991886079339\n  -0.05135991886079339]]",
    "allowed difference:",
    "[[3.64934172557649e-16 3.64934172557649e-16 3.64934172557649e-16\n  3.64934172557649e-16]\n [3.64934172557649e-16 3.64934172557649e-16 3.64934172557649e-16\n  3.64934172557649e-16]\n [3.64934172557649e-16 3.64934172557649e-16 3.64934172557649e-16\n  3.64934172557649e-16]\n [3.64934172557649e-16 3.64934172557649e-16 3.64934172557649e-16\n  3.64934172557649e-16]]",
)
