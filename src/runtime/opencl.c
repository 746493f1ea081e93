/* opencl.c: the OpenCL device. In: kernels as OpenCL C text. Out: programs built by the platform's compiler and run on
 * its first GPU, or on its first device of any kind; POLY_OPENCL=1 takes the second one, and so on.
 *
 * The loader, libOpenCL, is opened when the device is, so nothing of OpenCL is needed to build or to load the library.
 * Memory is coarse-grained shared virtual memory (OpenCL 2.0): what it gives are addresses, so that an argument in the
 * middle of an allocation is one too. Everything goes through one queue in order. A kernel that checks indices is
 * waited for, and the record of errors is read, so an index error belongs to the launch that made it. Sorting and its
 * like run on the host; matrix products are kernels like others. */
#include "runtime/gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is used of OpenCL ---- */

typedef void *Handle;
typedef struct Api {
  int32_t (*clGetPlatformIDs)(uint32_t, Handle *, uint32_t *);
  int32_t (*clGetDeviceIDs)(Handle, uint64_t, uint32_t, Handle *, uint32_t *);
  int32_t (*clGetDeviceInfo)(Handle, uint32_t, size_t, void *, size_t *);
  Handle (*clCreateContext)(const intptr_t *, uint32_t, const Handle *, void *, void *, int32_t *);
  Handle (*clCreateCommandQueueWithProperties)(Handle, Handle, const uint64_t *, int32_t *);
  Handle (*clCreateProgramWithSource)(Handle, uint32_t, const char **, const size_t *, int32_t *);
  Handle (*clCreateProgramWithBinary)(Handle, uint32_t, const Handle *, const size_t *, const unsigned char **,
                                      int32_t *, int32_t *);
  int32_t (*clBuildProgram)(Handle, uint32_t, const Handle *, const char *, void *, void *);
  int32_t (*clGetProgramBuildInfo)(Handle, Handle, uint32_t, size_t, void *, size_t *);
  int32_t (*clGetProgramInfo)(Handle, uint32_t, size_t, void *, size_t *);
  Handle (*clCreateKernel)(Handle, const char *, int32_t *);
  int32_t (*clSetKernelArg)(Handle, uint32_t, size_t, const void *);
  int32_t (*clSetKernelArgSVMPointer)(Handle, uint32_t, const void *);
  int32_t (*clEnqueueNDRangeKernel)(Handle, Handle, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t,
                                    const Handle *, Handle *);
  int32_t (*clEnqueueSVMMemcpy)(Handle, uint32_t, void *, const void *, size_t, uint32_t, const Handle *, Handle *);
  int32_t (*clFinish)(Handle);
  int32_t (*clFlush)(Handle);
  void *(*clSVMAlloc)(Handle, uint64_t, size_t, uint32_t);
  void (*clSVMFree)(Handle, void *);
  int32_t (*clReleaseKernel)(Handle);
  int32_t (*clReleaseProgram)(Handle);
  int32_t (*clReleaseCommandQueue)(Handle);
  int32_t (*clReleaseContext)(Handle);
} Api;

/* In the order of Api. */
static const char *const api_names[] = {"clGetPlatformIDs",
                                        "clGetDeviceIDs",
                                        "clGetDeviceInfo",
                                        "clCreateContext",
                                        "clCreateCommandQueueWithProperties",
                                        "clCreateProgramWithSource",
                                        "clCreateProgramWithBinary",
                                        "clBuildProgram",
                                        "clGetProgramBuildInfo",
                                        "clGetProgramInfo",
                                        "clCreateKernel",
                                        "clSetKernelArg",
                                        "clSetKernelArgSVMPointer",
                                        "clEnqueueNDRangeKernel",
                                        "clEnqueueSVMMemcpy",
                                        "clFinish",
                                        "clFlush",
                                        "clSVMAlloc",
                                        "clSVMFree",
                                        "clReleaseKernel",
                                        "clReleaseProgram",
                                        "clReleaseCommandQueue",
                                        "clReleaseContext"};
_Static_assert(sizeof(Api) == sizeof api_names, "a name for each function");

enum {
  DEVICE_GPU = 1 << 2,
  INFO_MAX_GROUP = 0x1004,
  INFO_MEMORY = 0x101F,
  INFO_FLOAT_CONFIG = 0x101B,
  INFO_LOCAL_MEMORY = 0x1023,
  INFO_NAME = 0x102B,
  INFO_DRIVER = 0x102D,
  INFO_DOUBLE_CONFIG = 0x1032,
  INFO_SVM = 0x1053,
  ROUNDED_DIVIDE = 1 << 7,
  PROGRAM_BINARY_SIZES = 0x1165,
  PROGRAM_BINARIES = 0x1166,
  BUILD_LOG = 0x1183,
  MEM_READ_WRITE = 1,
  MAX_GROUP = 128
};
static const uint64_t DEVICE_ALL = 0xFFFFFFFF;

typedef struct ClDevice {
  Device device; /* first */
  Memory memory;
  void *library;
  Api cl;
  Handle id, context, queue;
  char name[128], driver[128];
  char options[128];
  int64_t *errors; /* the record, in the device's memory */
} ClDevice;

typedef struct ClProgram {
  Program program; /* first */
  Handle built;
  Handle *handle;
  GpuKernel *kernel;
} ClProgram;

static ClDevice *device_of(Memory *m) { return (ClDevice *)((char *)m - offsetof(ClDevice, memory)); }

static bool fail(const ClDevice *c, const char *what, int32_t code) {
  bool memory = code == -4 || code == -5 || code == -6;
  return base_fail(ctx_base(c->device.ctx), memory ? POLY_ERROR_MEMORY : POLY_ERROR_RUNTIME,
                   "OpenCL on %s: %s (error %d)", c->name, what, code);
}

/* ---- memory ---- */

static void *cl_alloc(Memory *m, size_t bytes) {
  ClDevice *c = device_of(m);
  void *p = c->cl.clSVMAlloc(c->context, MEM_READ_WRITE, MAX(bytes, 1), 64);
  if (!p) base_fail(ctx_base(c->device.ctx), POLY_ERROR_MEMORY, "out of memory on %s: %zu bytes", m->name, bytes);
  return p;
}

/* What was launched before may still use it. */
static void cl_free(Memory *m, void *p, size_t bytes) {
  (void)bytes;
  ClDevice *c = device_of(m);
  c->cl.clFinish(c->queue);
  c->cl.clSVMFree(c->context, p);
}

static bool copy_bytes(Memory *m, void *dst, const void *src, size_t bytes) {
  ClDevice *c = device_of(m);
  if (!bytes) return true;
  int32_t code = c->cl.clEnqueueSVMMemcpy(c->queue, 1, dst, src, bytes, 0, NULL, NULL);
  return !code || fail(c, "copying memory", code);
}

/* ---- programs ---- */

static bool fail_build(const ClDevice *c, Handle program) {
  char log[1500] = "";
  c->cl.clGetProgramBuildInfo(program, c->id, BUILD_LOG, sizeof log - 1, log, NULL);
  return base_fail(ctx_base(c->device.ctx), POLY_ERROR_RUNTIME, "OpenCL on %s: kernels could not be compiled: %s",
                   c->name, log);
}

static bool build_source(ClDevice *c, const char *source, Handle *out) {
  int32_t code;
  *out = c->cl.clCreateProgramWithSource(c->context, 1, &source, NULL, &code);
  if (!*out) return fail(c, "making a program", code);
  c->device.ctx->runtime->compilations++;
  return !c->cl.clBuildProgram(*out, 1, &c->id, c->options, NULL, NULL) || fail_build(c, *out);
}

static void cl_program_free(Program *p) {
  if (!p) return;
  ClProgram *cp = (ClProgram *)p;
  ClDevice *c = (ClDevice *)p->device;
  Base *b = ctx_base(p->device->ctx);
  int n = MAX(p->nkernel, 1);
  c->cl.clFinish(c->queue);
  for (int k = 0; cp->kernel && k < p->nkernel; k++) gpu_kernel_free(p->device->ctx, &cp->kernel[k]);
  for (int k = 0; cp->handle && k < p->nkernel; k++)
    if (cp->handle[k]) c->cl.clReleaseKernel(cp->handle[k]);
  if (cp->built) c->cl.clReleaseProgram(cp->built);
  mem_free(b, cp->kernel, (size_t)n * sizeof *cp->kernel);
  mem_free(b, cp->handle, (size_t)n * sizeof *cp->handle);
  mem_free(b, cp, sizeof *cp);
}

static Program *cl_compile(Device *d, const char *source, int n, const Linear *const *kernel) {
  ClDevice *c = (ClDevice *)d;
  Base *b = ctx_base(d->ctx);
  ClProgram *cp = mem_new(b, sizeof *cp);
  if (!cp) return NULL;
  cp->program = (Program){.device = d, .nkernel = n};
  cp->kernel = mem_new(b, (size_t)MAX(n, 1) * sizeof *cp->kernel);
  cp->handle = mem_new(b, (size_t)MAX(n, 1) * sizeof *cp->handle);
  bool ok = cp->kernel && cp->handle && build_source(c, source, &cp->built);
  for (int k = 0; ok && k < n; k++) {
    int32_t code;
    ok = linear_verify(d->ctx, kernel[k]) && gpu_kernel_new(d->ctx, &cp->kernel[k], n, kernel, k);
    if (ok && !(cp->handle[k] = c->cl.clCreateKernel(cp->built, cp->kernel[k].name, &code)))
      ok = fail(c, cp->kernel[k].name, code);
  }
  if (ok) return &cp->program;
  cl_program_free(&cp->program);
  return NULL;
}

/* ---- launches ---- */

static bool read_errors(ClDevice *c) {
  int64_t record[GPU_ERROR_WORDS], none[GPU_ERROR_WORDS] = {0};
  if (!copy_bytes(&c->memory, record, c->errors, sizeof record)) return false;
  if (!record[0]) return true;
  return copy_bytes(&c->memory, c->errors, none, sizeof none) && gpu_check_errors(c->device.ctx, record);
}

static bool cl_launch(Program *p, int k, const MemoryRef *args, const int64_t *vars, int threads) {
  (void)threads;
  ClProgram *cp = (ClProgram *)p;
  ClDevice *c = (ClDevice *)p->device;
  const GpuKernel *kernel = &cp->kernel[k];
  Handle h = cp->handle[k];
  int64_t blocks;
  uint32_t at = 0;
  int32_t code = 0;
  if (!gpu_blocks(kernel, vars, &blocks)) return false;
  if (!blocks) return true;
  for (int i = 0; i < kernel->narg && !code; i++) {
    const void *address = args[i].memory ? (const char *)args[i].memory + args[i].offset : NULL;
    code = c->cl.clSetKernelArgSVMPointer(h, at++, address);
  }
  for (int i = 0; i < kernel->nvar && !code; i++) code = c->cl.clSetKernelArg(h, at++, sizeof *vars, &vars[i]);
  if (!code) code = c->cl.clSetKernelArgSVMPointer(h, at++, c->errors);
  size_t local = (size_t)gpu_threads(kernel), global = (size_t)blocks * local;
  if (!code) code = c->cl.clEnqueueNDRangeKernel(c->queue, h, 1, NULL, &global, &local, 0, NULL, NULL);
  if (code) return fail(c, kernel->name, code);
  return kernel->checks ? read_errors(c) : true;
}

static bool cl_wait(Device *d) {
  ClDevice *c = (ClDevice *)d;
  int32_t code = c->cl.clFinish(c->queue);
  return !code || fail(c, "waiting for kernels", code);
}

/* ---- the device ---- */

static void cl_close(Device *d) {
  ClDevice *c = (ClDevice *)d;
  if (c->queue) c->cl.clFinish(c->queue);
  if (c->errors) c->cl.clSVMFree(c->context, c->errors);
  if (c->queue) c->cl.clReleaseCommandQueue(c->queue);
  if (c->context) c->cl.clReleaseContext(c->context);
  mem_free(ctx_base(d->ctx), c, sizeof *c); /* the loader stays: drivers do not like to be unloaded */
}

static bool load_api(ClDevice *c) {
  Base *b = ctx_base(c->device.ctx);
  void *(*find)(void *, const char *) = dlsym;
  c->library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!c->library)
    return base_fail(b, POLY_ERROR_RUNTIME, "OpenCL is not there: libOpenCL.so.1 could not be loaded (%s)", dlerror());
  for (int i = 0; i < LEN(api_names); i++) {
    void *f = find(c->library, api_names[i]);
    if (!f) return base_fail(b, POLY_ERROR_RUNTIME, "this OpenCL is older than 2.0: it has no %s", api_names[i]);
    memcpy((char *)&c->cl + (size_t)i * sizeof f, &f, sizeof f);
  }
  return true;
}

/* Devices of a kind on all platforms; the one with number `wanted`, or NULL. */
static Handle pick(const ClDevice *c, uint64_t kind, int wanted) {
  Handle platform[16], device[32];
  uint32_t np = 0, nd;
  if (c->cl.clGetPlatformIDs(LEN(platform), platform, &np)) return NULL;
  for (uint32_t p = 0; p < np && p < LEN(platform); p++) {
    nd = 0;
    if (c->cl.clGetDeviceIDs(platform[p], kind, LEN(device), device, &nd)) continue;
    if (wanted < (int)nd) return device[wanted];
    wanted -= (int)nd;
  }
  return NULL;
}

static uint64_t info(const ClDevice *c, uint32_t what) {
  uint64_t v = 0;
  return c->cl.clGetDeviceInfo(c->id, what, sizeof v, &v, NULL) ? 0 : v;
}

static bool open_id(ClDevice *c) {
  Base *b = ctx_base(c->device.ctx);
  const char *env = getenv("POLY_OPENCL");
  int wanted = env ? atoi(env) : 0;
  if (!env) c->id = pick(c, DEVICE_GPU, 0);
  if (!c->id) c->id = pick(c, DEVICE_ALL, wanted);
  if (!c->id) return base_fail(b, POLY_ERROR_RUNTIME, "OpenCL has no device with number %d here", wanted);
  c->cl.clGetDeviceInfo(c->id, INFO_NAME, sizeof c->name - 1, c->name, NULL);
  c->cl.clGetDeviceInfo(c->id, INFO_DRIVER, sizeof c->driver - 1, c->driver, NULL);
  if (!(info(c, INFO_SVM) & 1))
    return base_fail(b, POLY_ERROR_RUNTIME, "the OpenCL device %s has no shared virtual memory", c->name);
  if (!info(c, INFO_DOUBLE_CONFIG))
    return base_fail(b, POLY_ERROR_RUNTIME, "the OpenCL device %s has no float64", c->name);
  snprintf(c->options, sizeof c->options, "-w -cl-std=CL2.0%s",
           info(c, INFO_FLOAT_CONFIG) & ROUNDED_DIVIDE ? " -cl-fp32-correctly-rounded-divide-sqrt" : "");
  return true;
}

static bool open_queue(ClDevice *c) {
  int32_t code = 0;
  int64_t none[GPU_ERROR_WORDS] = {0};
  c->context = c->cl.clCreateContext(NULL, 1, &c->id, NULL, NULL, &code);
  if (!c->context) return fail(c, "opening the device", code);
  c->queue = c->cl.clCreateCommandQueueWithProperties(c->context, c->id, NULL, &code);
  if (!c->queue) return fail(c, "making a queue", code);
  c->errors = c->cl.clSVMAlloc(c->context, MEM_READ_WRITE, sizeof none, 64);
  return (c->errors || fail(c, "shared virtual memory", -6)) && copy_bytes(&c->memory, c->errors, none, sizeof none);
}

Device *opencl_open(Runtime *r) {
  ClDevice *c = mem_new(ctx_base(r->ctx), sizeof *c);
  if (!c) return NULL;
  Device *d = &c->device;
  Memory *m = &c->memory;
  *d = (Device){.name = "OPENCL", .ctx = r->ctx, .memory = m, .target = opencl_target, .needs_source = true};
  d->compile = cl_compile;
  d->program_free = cl_program_free;
  d->launch = cl_launch;
  d->library = gpu_library;
  d->wait = cl_wait;
  d->close = cl_close;
  *m = (Memory){.name = "OPENCL", .runtime = r, .alloc = cl_alloc, .free = cl_free};
  m->copy_in = m->copy_out = m->copy = copy_bytes;
  if (!load_api(c) || !open_id(c) || !open_queue(c) || !runtime_add_memory(r, m)) {
    cl_close(d);
    return NULL;
  }
  m->capacity = (size_t)info(c, INFO_MEMORY);
  d->target.shared_bytes = (int64_t)info(c, INFO_LOCAL_MEMORY);
  int most = (int)info(c, INFO_MAX_GROUP);
  while (d->target.group > most && d->target.group > 1) d->target.group /= 2;
  return d;
}
