#!/bin/sh
# A quick look at the CUDA device on a machine with a GPU: builds, runs its own tests, steps of a few models with their kernels, and parts of the op,
# gradient and graph suites. Usage: tools/gpu_smoke.sh [folder for logs]. Python is PYTHON or python3, which needs numpy and pytest, and PyTorch for the steps.
out=${1:-build/gpu-smoke}
python=${PYTHON:-python3}
mkdir -p "$out"
export POLYGRAD_LIB="$PWD/build/libpolygrad.so" PYTHONPATH="py:bench:${PYTHONPATH:-}" PYTHONUNBUFFERED=1 POLY_CACHE_DIR="${POLY_CACHE_DIR:-/tmp/polygrad-cache}"
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
$python -c 'import sys, numpy; print(sys.version, numpy.__version__)'
make -j"$(nproc)" 2>&1 | tail -2 || exit 1
timeout 100 $python -m pytest -q -x --maxfail=12 -p no:cacheprovider py/tests/test_cuda.py > "$out/cuda.log" 2>&1
tail -25 "$out/cuda.log"
timeout 170 $python bench/cuda.py --sizes cora,arxiv64 --modes eager --kernels --seconds 0.5 --limit 80 --json "$out/steps.json" 2>&1
for t in ops_unary ops_binary ops_reduce ops_index ops_movement ops_linalg grad graphs; do
  POLY_TEST_DEVICE=CUDA timeout "${SUITE_SECONDS:-90}" $python -m pytest -q --maxfail=15 -p no:cacheprovider "py/tests/test_$t.py" > "$out/$t.log" 2>&1 &
done
wait
for t in ops_unary ops_binary ops_reduce ops_index ops_movement ops_linalg grad graphs; do
  echo "== $t"
  tail -4 "$out/$t.log"
done
