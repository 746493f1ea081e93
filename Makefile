# make          the library, shared and static
# make demo     trains a graph network on Cora, which is part of the package, and writes a page with pictures; installs what it needs
# make test     every test; installs what it needs
# make test-unit, test-integration, test-property   the tests of one kind (docs/testing.md)
# make opencl-tests   a part of the tests on OpenCL (PoCL);  OPENCL_SHARE=1 runs all;  make cuda-texts compiles kernels with NVRTC
# make golden-update   writes the texts of test/golden anew
# make fuzz     random programs and damaged files with fresh seeds: SECONDS=600, SEED=..., PROGRAMS=..., DEVICE=INTERP (docs/testing.md)
# make asan     the C tests under the address and undefined-behaviour sanitizers
# make tsan     the C tests under the thread sanitizer, kernels included;  ONLY="engine step" runs some of them
# make bench    benchmarks beside numpy, PyTorch and tinygrad (installed into an environment of their own)
# make bench-graph   graph networks beside PyTorch Geometric, kernels beside ones written by hand, a graph of 115M edges
# make bench-geometric   epochs beside PyTorch Geometric's, accuracies over ten seeds
# make test-cuda, check-cuda, bench-cuda   the tests, accuracies and sanitizer, and training steps beside PyTorch Geometric, on an NVIDIA GPU;
#                     make test-fake-cuda needs none (docs/gpu.md)
# make docs     the API reference, from the docstrings, into docs/reference
# make format   clang-format and ruff;  make lint checks both, and that clang is as quiet as gcc

BUILD ?= build
CFLAGS ?= -O2 -g
WARN ?= -Wall -Wextra -Wpedantic -Werror
FLAGS := -std=c11 -D_GNU_SOURCE $(WARN) -Iinclude -Isrc -fopenmp
LIB_FLAGS := $(FLAGS) -DPOLY_BUILD -fPIC -fvisibility=hidden
VENV := .venv
PYTHON := $(VENV)/bin/python

SRC := $(sort $(wildcard src/*/*.c))
OBJ := $(SRC:src/%.c=$(BUILD)/obj/%.o) $(BUILD)/obj/float_math.o $(BUILD)/obj/gpu_routines.o
ONLY ?=
TESTS := $(if $(ONLY),$(ONLY:%=$(BUILD)/test/test_%),$(patsubst test/c/%.c,$(BUILD)/test/%,$(sort $(wildcard test/c/test_*.c))))
EXAMPLES := $(if $(ONLY),,$(patsubst examples/c/%.c,$(BUILD)/examples/%,$(sort $(wildcard examples/c/*.c))))

Q := $(if $(V),,@)

all: $(BUILD)/libpolygrad.so $(BUILD)/libpolygrad.a

$(BUILD)/libpolygrad.so: $(OBJ)
	@echo "  LINK $@"
	$(Q)$(CC) -shared -fopenmp $(LDFLAGS) -o $@ $^ -lm -ldl
$(BUILD)/libpolygrad.a: $(OBJ)
	$(Q)rm -f $@ && ar rcs $@ $^
# Routines over whole arrays: their loops are written to be vectorised, which GCC does from -O3 on.
$(addprefix $(BUILD)/obj/runtime/,keys.o library.o search.o select.o sort.o): CFLAGS += -O3

$(BUILD)/obj/%.o: src/%.c
	@mkdir -p $(@D)
	@echo "  CC   $<"
	$(Q)$(CC) $(LIB_FLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<


# The float functions of kernels, for the interpreter: written by a program that is built first.
FLOAT_MATH := $(BUILD)/float_math
$(FLOAT_MATH): tools/float_math.c src/ir/ops.def $(addprefix $(BUILD)/obj/,base/base.o render/cmath.o render/chelp.o render/cfloat.o render/cgroup.o)
	@echo "  CC   $<"
	$(Q)$(CC) $(FLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $(filter-out %.def,$^)
$(FLOAT_MATH).c: $(FLOAT_MATH)
	$(Q)$(FLOAT_MATH) > $@.new && mv $@.new $@
# Bits of lanes that are thrown away afterwards may be shifted out of range, as in the kernels that have the same text.
$(BUILD)/obj/float_math.o: $(FLOAT_MATH).c src/runtime/float_math.h
	@echo "  CC   $<"
	$(Q)$(CC) $(LIB_FLAGS) $(CFLAGS) -w -ffp-contract=off -fwrapv -fno-sanitize=undefined -c -o $@ $<

# The text of the routines of GPUs, as a string.
$(BUILD)/gpu_routines.c: src/runtime/gpu_routines.cl
	@mkdir -p $(@D)
	$(Q)(echo '#include "runtime/gpu_routines.h"'; echo 'const char gpu_routines_text[] ='; sed 's/\\/\\\\/g; s/"/\\"/g; s/.*/"&\\n"/' $<; echo ';') > $@.new && mv $@.new $@
$(BUILD)/obj/gpu_routines.o: $(BUILD)/gpu_routines.c src/runtime/gpu_routines.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(LIB_FLAGS) -Wno-overlength-strings $(CFLAGS) -c -o $@ $<

# A CUDA driver, NVRTC and cuBLASLt that run on the host (test/fake), under the names that the library looks for.
FAKE_CUDA := $(BUILD)/fake_cuda
FAKE_FLAGS := -std=c++17 -O0 -w -fPIC -ffp-contract=off -fwrapv -fno-strict-aliasing
$(FAKE_CUDA)/libcuda.so.1: test/fake/fake_cuda.c test/fake/kernel_shim.h src/runtime/cuda_api.h
	@mkdir -p $(@D)
	@echo "  CC   $<"
	$(Q)$(CC) $(FLAGS) $(CFLAGS) -Wno-pedantic -DFAKE_FLAGS='"$(FAKE_FLAGS)"' -fPIC -shared -fvisibility=hidden -o $@ $< -ldl
	$(Q)cp test/fake/kernel_shim.h $(@D)/ && g++ $(FAKE_FLAGS) -x c++-header $(@D)/kernel_shim.h -o $(@D)/kernel_shim.h.gch
	$(Q)ln -sf libcuda.so.1 $(@D)/libnvrtc.so.12 && ln -sf libcuda.so.1 $(@D)/libcublasLt.so.12
fake-cuda: $(FAKE_CUDA)/libcuda.so.1

$(BUILD)/test/%: test/c/%.c $(BUILD)/libpolygrad.a
	@mkdir -p $(@D)
	@echo "  CC   $<"
	$(Q)$(CC) $(FLAGS) $(CFLAGS) -MMD -MP $(LDFLAGS) -o $@ $< $(BUILD)/libpolygrad.a -lcmocka -lm -ldl
$(BUILD)/examples/%: examples/c/%.c $(BUILD)/libpolygrad.a
	@mkdir -p $(@D)
	@echo "  CC   $<"
	$(Q)$(CC) $(FLAGS) $(CFLAGS) -MMD -MP $(LDFLAGS) -o $@ $< $(BUILD)/libpolygrad.a -lm -ldl
-include $(OBJ:.o=.d) $(TESTS:=.d) $(EXAMPLES:=.d)

setup:
	@tools/setup.sh gcc libc6-dev make libdnnl2 libgomp1
setup-test: setup
	@tools/setup.sh libcmocka-dev python3-venv libmetis5
$(VENV)/ready: py/requirements-test.txt
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r py/requirements-test.txt
	touch $@

# The demo needs numpy only, and no network: the environment of the tests or the system's Python will do, if they have it.
DEMO_VENV = $(if $(wildcard $(VENV)/ready),$(VENV),$(BUILD)/demo-venv)
DEMO_READY = $(if $(wildcard $(VENV)/ready),,$(shell python3 -c 'import numpy' 2>/dev/null || echo $(BUILD)/demo-venv/ready))
DEMO_PYTHON = $(if $(wildcard $(DEMO_VENV)/ready),$(DEMO_VENV)/bin/python,python3)
$(BUILD)/demo-venv/ready:
	@mkdir -p $(@D)
	@python3 -m venv $(@D)
	@echo "  PIP  numpy"
	@$(@D)/bin/pip install --quiet --disable-pip-version-check numpy
	@touch $@
demo: setup
	@tools/setup.sh python3 python3-venv
	@$(MAKE) --no-print-directory -s -j2 all $(DEMO_READY)
	@POLYGRAD_LIB=$(abspath $(BUILD)/libpolygrad.so) PYTHONPATH=py $(DEMO_PYTHON) -m polygrad \
	  train --dataset Cora --fallback KarateClub --model gat --epochs 200 --output $(BUILD)/demo

c-tests: $(TESTS) $(EXAMPLES)
	@tools/run_c_tests.sh $(TESTS) -- $(EXAMPLES)
KIND ?=
# Two processes, each with every other test: most tests run on one core. The second one's output is shown at its end.
PY_PART = POLY_TEST_PART=$(1)/2 POLYGRAD_LIB=$(abspath $(BUILD)/libpolygrad.so) PYTHONPATH=py $(PYTHON) -m pytest -q $(if $(KIND),-m $(KIND)) py/tests
py-tests: all $(VENV)/ready
	@$(call PY_PART,1) -p no:cacheprovider > $(BUILD)/py-tests.log 2>&1 & other=$$!; \
	  trap "kill $$other 2>/dev/null" INT TERM; \
	  $(call PY_PART,0); status=$$?; wait $$other || status=1; cat $(BUILD)/py-tests.log; exit $$status
# Tests by what they need (docs/testing.md). A C test that is in no list is a unit test; kinds of Python tests: py/tests/conftest.py.
C_INTEGRATION := engine heads library render render_math runtime safetensors
C_PROPERTY := identities int memory_plan render_random sums
C_UNIT := $(filter-out $(C_INTEGRATION) $(C_PROPERTY),$(patsubst test/c/test_%.c,%,$(sort $(wildcard test/c/test_*.c))))
test-unit test-integration test-property: test-%: setup-test
	@$(MAKE) --no-print-directory -j2 all
	@$(MAKE) --no-print-directory c-tests ONLY="$(C_$(shell echo $* | tr a-z A-Z))" $(if $(filter integration,$*),EXAMPLES="$(EXAMPLES)")
	@$(MAKE) --no-print-directory py-tests KIND=$*
test: setup-test
	@$(MAKE) --no-print-directory -j2 all
	@$(MAKE) --no-print-directory c-tests
	@$(MAKE) --no-print-directory py-tests
	@$(MAKE) --no-print-directory opencl-tests
	@$(MAKE) --no-print-directory cuda-texts
	@$(MAKE) --no-print-directory test-fake-cuda
	@$(MAKE) --no-print-directory asan ONLY="engine step graph safetensors"
	@$(MAKE) --no-print-directory tsan ONLY="engine library sample"

# The CUDA device, its kernels run by the host.
test-fake-cuda: all $(VENV)/ready
	@tools/setup.sh g++
	@$(MAKE) --no-print-directory fake-cuda
	LD_LIBRARY_PATH=$(abspath $(FAKE_CUDA)) POLYGRAD_LIB=$(abspath $(BUILD)/libpolygrad.so) PYTHONPATH=py $(PYTHON) -m pytest -q py/tests/test_cuda.py
	LD_LIBRARY_PATH=$(abspath $(FAKE_CUDA)) POLYGRAD_LIB=$(abspath $(BUILD)/libpolygrad.so) PYTHONPATH=py POLY_TEST_DEVICE=CUDA \
	  sh -c '$(PYTHON) -m pytest -q py/tests/test_graphs.py -k some_rows && $(PYTHON) -m pytest -q py/tests/test_graphs_on_device.py -k "hub and int32" && \
	    $(PYTHON) -m pytest -q py/tests/geometric/test_on_device.py -k "copies_ahead or 65-True"'
	LD_LIBRARY_PATH=$(abspath $(FAKE_CUDA)) POLYGRAD_LIB=$(abspath $(BUILD)/libpolygrad.so) PYTHONPATH=py POLY_TEST_DEVICE=CUDA POLY_PRODUCT_WORK=1 \
	  sh -c 'for split in 0 1; do POLY_PRODUCT_SPLIT=$$split $(PYTHON) -m pytest -q py/tests/test_group_products.py || exit 1; done'
# On a machine with a GPU, with its own Python, which needs numpy and pytest: the device's own tests, the ops, gradients, graphs and golden fixtures.
CUDA_PYTHON ?= python3
CUDA_TESTS ?= $(addprefix py/tests/,test_cuda.py $(notdir $(sort $(wildcard py/tests/test_ops_*.py))) test_grad.py test_graphs.py test_graphs_on_device.py test_trace.py test_recall.py test_vertex.py geometric/test_golden.py geometric/test_on_device.py)
CUDA_JOBS ?= 16
# As many processes as jobs, each with its part of the tests of every file: files take from seconds to minutes.
test-cuda: all
	@mkdir -p $(BUILD)/test-cuda
	seq 0 $$(($(CUDA_JOBS) - 1)) | POLY_TEST_DEVICE=CUDA POLYGRAD_LIB=$(abspath $(BUILD)/libpolygrad.so) PYTHONPATH=py xargs -P $(CUDA_JOBS) -I{} sh -c \
	  'POLY_TEST_PART={}/$(CUDA_JOBS) $(CUDA_PYTHON) -m pytest -q --durations=3 -p no:cacheprovider $(CUDA_TESTS) >$(BUILD)/test-cuda/{} 2>&1; status=$$?; \
	  if [ $$status = 0 ]; then tail -1 $(BUILD)/test-cuda/{}; else tail -80 $(BUILD)/test-cuda/{}; exit 1; fi'
	POLY_TEST_DEVICE=CUDA POLY_PRODUCT_WORK=1 POLYGRAD_LIB=$(abspath $(BUILD)/libpolygrad.so) PYTHONPATH=py \
	  $(CUDA_PYTHON) -m pytest -q -p no:cacheprovider py/tests/test_group_products.py
# Accuracies, bits, the first step with a cold cache, compute-sanitizer; CHECK_ARGS as bench/cuda_checks.py has them.
check-cuda: all
	POLYGRAD_LIB=$(abspath $(BUILD)/libpolygrad.so) PYTHONPATH=py $(CUDA_PYTHON) bench/cuda_checks.py $(CHECK_ARGS)
bench-cuda: all
	POLYGRAD_LIB=$(abspath $(BUILD)/libpolygrad.so) PYTHONPATH=py $(CUDA_PYTHON) bench/cuda.py --kernels --json bench/results/h200.json $(BENCH_ARGS)
	POLYGRAD_LIB=$(abspath $(BUILD)/libpolygrad.so) PYTHONPATH=py $(CUDA_PYTHON) bench/cuda_kernels.py --json bench/results/h200_kernels.json
	POLYGRAD_LIB=$(abspath $(BUILD)/libpolygrad.so) PYTHONPATH=py $(CUDA_PYTHON) bench/cuda_models.py --json bench/results/h200_models.json

# OpenCL on the host, by PoCL. It compiles every kernel anew, so one test in OPENCL_SHARE is run, always the same ones; 1 runs all.
OPENCL_SHARE ?= 12
OPENCL_TESTS ?= $(addprefix py/tests/,test_ops_unary.py test_ops_binary.py test_ops_reduce.py test_ops_index.py test_ops_movement.py test_grad.py test_graphs.py test_graphs_on_device.py geometric/test_golden.py geometric/test_on_device.py)
opencl-tests: all $(VENV)/ready
	@tools/setup.sh pocl-opencl-icd ocl-icd-libopencl1
	ls $(OPENCL_TESTS) | POLY_TEST_DEVICE=OPENCL POLY_TEST_SHARE=$(OPENCL_SHARE) POLYGRAD_LIB=$(abspath $(BUILD)/libpolygrad.so) PYTHONPATH=py \
	  xargs -P 2 -n 1 $(PYTHON) -m pytest -q -p no:cacheprovider
# The golden fixtures with the Target of CUDA, run by the interpreter, and their texts through NVRTC; products also as architecture 9.0 has them.
cuda-texts: all $(VENV)/ready
	rm -rf $(BUILD)/cuda-texts && mkdir -p $(BUILD)/cuda-texts
	POLY_TEST_DEVICE=TEST POLY_TEST_TARGET=CUDA POLY_PRODUCT_WORK=1 POLY_TEST_SOURCE=$(abspath $(BUILD)/cuda-texts) POLYGRAD_LIB=$(abspath $(BUILD)/libpolygrad.so) PYTHONPATH=py \
	  $(PYTHON) -m pytest -q -p no:cacheprovider py/tests/geometric/test_golden.py
	$(PYTHON) tools/nvrtc.py $(BUILD)/cuda-texts
	rm -rf $(BUILD)/cuda-texts-90 && mkdir -p $(BUILD)/cuda-texts-90
	POLY_TEST_DEVICE=TEST POLY_TEST_TARGET=CUDA POLY_PRODUCT_WORK=1 POLY_PRODUCT_SPLIT=1 POLY_TEST_SOURCE=$(abspath $(BUILD)/cuda-texts-90) POLYGRAD_LIB=$(abspath $(BUILD)/libpolygrad.so) PYTHONPATH=py \
	  $(PYTHON) -m pytest -q -p no:cacheprovider py/tests/test_group_products.py
	$(PYTHON) tools/nvrtc.py --arch compute_90a $(BUILD)/cuda-texts-90

golden-update: $(BUILD)/test/test_texts
	POLY_GOLDEN_UPDATE=1 $(BUILD)/test/test_texts

# POLY_POISON fills fresh memory with NaN: a value that nobody wrote cannot pass for a number. POLY_VERIFY checks what each pass made.
SECONDS ?= 60
SEED ?=
PROGRAMS ?= 0
DEVICE ?= all
FUZZ = POLY_POISON=1 POLY_VERIFY=1 POLYGRAD_LIB=$(abspath $(BUILD)/libpolygrad.so) PYTHONPATH=py:py/tests $(PYTHON) -m fuzz $(if $(SEED),--seed $(SEED)) --out $(BUILD)/fuzz
fuzz: all $(VENV)/ready
	@$(FUZZ) --seconds $(SECONDS) --programs $(PROGRAMS) --device $(DEVICE); a=$$?; \
	  $(FUZZ) --files --seconds $$(( $(SECONDS) / 4 + 5 )); b=$$?; [ $$a = 0 ] && [ $$b = 0 ]

SAN := -fsanitize=address,undefined -fno-sanitize-recover=all
asan: setup-test
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/asan CFLAGS="-O1 -g $(SAN)" LDFLAGS="$(SAN)" -j2 c-tests
# libgomp's barriers are unknown to the thread sanitizer, which then reports races that are none: clang's runtime tells it through archer. The
# compiler's flag is part of CC, since kernels are compiled with CC when they run.
tsan: setup-test
	@tools/setup.sh clang libomp-dev libclang-rt-dev
	@OMP_TOOL_LIBRARIES=$$(ls /usr/lib/llvm-*/lib/libarcher.so | tail -1) TSAN_OPTIONS="ignore_noninstrumented_modules=1 halt_on_error=1" POLY_THREADS=4 \
	  $(MAKE) --no-print-directory BUILD=$(BUILD)/tsan CC="clang -fsanitize=thread" CFLAGS="-O1 -g" -j2 c-tests

BENCH_VENV := $(BUILD)/bench-venv
BENCH_RUN = POLYGRAD_LIB=$(abspath $(BUILD)/libpolygrad.so) PYTHONPATH=py $(BENCH_VENV)/bin/python
$(BENCH_VENV)/ready: bench/requirements.txt
	python3 -m venv $(BENCH_VENV)
	$(BENCH_VENV)/bin/pip install --quiet --disable-pip-version-check -r bench/requirements.txt
	touch $@
bench: setup all $(BENCH_VENV)/ready
	$(BENCH_RUN) bench/core.py
	$(BENCH_RUN) bench/python_overhead.py
	$(BENCH_RUN) bench/planning.py --json bench/results/planning.json
	$(BENCH_RUN) bench/contractions.py --json bench/results/contractions.json
	$(BENCH_RUN) bench/lstm.py
bench-graph: setup all $(BENCH_VENV)/ready
	$(BENCH_RUN) bench/graph_train.py --json bench/results/graph_train.json
	$(BENCH_RUN) bench/graph_kernels.py --json bench/results/graph_kernels.json
	$(BENCH_RUN) bench/graph_reddit.py --json bench/results/graph_reddit.json
bench-geometric: setup all $(BENCH_VENV)/ready
	$(BENCH_RUN) bench/geometric.py --json bench/results/geometric.json
	$(BENCH_RUN) bench/loader.py --json bench/results/loader.json
	$(BENCH_RUN) bench/accuracy.py --json bench/results/accuracy.json
	$(BENCH_RUN) bench/examples/run.py --json bench/results/examples.json
	$(BENCH_RUN) bench/layers.py --full --json bench/results/layers.json
	$(BENCH_RUN) bench/library.py --json bench/results/library.json
	$(BENCH_RUN) bench/utils.py --json bench/results/utils.json

docs: all $(VENV)/ready
	POLYGRAD_LIB=$(abspath $(BUILD)/libpolygrad.so) PYTHONPATH=py $(PYTHON) py/tools/gen_reference.py

FORMAT := $(wildcard src/*/*.c src/*/*.h tools/*.c test/c/*.c test/c/*.h examples/c/*.c bench/hand/*.c bench/hand/*.h)
format: $(VENV)/ready
	clang-format -i $(FORMAT)
	$(VENV)/bin/ruff format py bench
lint: $(VENV)/ready
	@tools/setup.sh clang clang-format libomp-dev
	clang-format --dry-run -Werror $(FORMAT)
	clang $(LIB_FLAGS) -fsyntax-only $(SRC)
	$(VENV)/bin/ruff check py bench
	$(VENV)/bin/mypy py/polygrad
	@$(MAKE) --no-print-directory -s -j2 all
	tools/check_layers.py $(BUILD)

clean:
	rm -rf $(BUILD)
.PHONY: all opencl-tests cuda-texts fake-cuda test-fake-cuda test-cuda check-cuda bench-cuda setup setup-test demo c-tests py-tests test fuzz asan tsan bench bench-graph bench-geometric docs format lint clean
