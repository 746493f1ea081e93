/* cuda_compile.c: CUDA text to a module of the driver, by NVRTC, with binaries kept on disk.
 *
 * The cache's key covers the text, the architecture, the version of NVRTC and its options. An entry is the binary for
 * one architecture, or PTX, where NVRTC is older than the card. */
#include "runtime/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rounding is decided by the linear form: nothing is contracted, divisions and square roots are rounded correctly. */
static const char *const options[] = {
    "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true", "--device-as-default-execution-space",
    "--std=c++17",  "-w"};

enum { NOPTION = sizeof options / sizeof *options };

typedef struct Image {
  char *at;
  size_t bytes;
} Image;

/* ---- compiling ---- */

static bool compile_failed(CudaDevice *c, NvrtcProgram program, int status) {
  size_t n = 0;
  char text[700] = "";
  char *log = NULL;
  Base *b = ctx_base(c->device.ctx);
  if (c->api.nvrtcGetProgramLogSize(program, &n) == 0 && n > 1 && (log = mem_new(b, n)) &&
      c->api.nvrtcGetProgramLog(program, log) == 0)
    snprintf(text, sizeof text, "%.600s", log);
  mem_free(b, log, n);
  return base_fail(b, POLY_ERROR_RUNTIME, "NVRTC %d.%d failed (%d) to compile kernels for %s: %s", c->api.compiler[0],
                   c->api.compiler[1], status, c->card, text);
}

static bool take_image(CudaDevice *c, NvrtcProgram program, Image *image) {
  int (*size)(NvrtcProgram, size_t *) = c->binary ? c->api.nvrtcGetCUBINSize : c->api.nvrtcGetPTXSize;
  int (*get)(NvrtcProgram, char *) = c->binary ? c->api.nvrtcGetCUBIN : c->api.nvrtcGetPTX;
  Base *b = ctx_base(c->device.ctx);
  if (size(program, &image->bytes) != 0 || !image->bytes)
    return base_fail(b, POLY_ERROR_RUNTIME, "NVRTC gives no binary for %s", c->card);
  return (image->at = mem_new(b, image->bytes)) && get(program, image->at) == 0;
}

static bool compile(CudaDevice *c, const char *source, Image *image) {
  char message[512], arch[64];
  Base *b = ctx_base(c->device.ctx);
  if (!cuda_api_nvrtc(&c->api, message, sizeof message)) return base_fail(b, POLY_ERROR_RUNTIME, "%s", message);
  snprintf(arch, sizeof arch, "--gpu-architecture=%s", c->architecture);
  const char *all[NOPTION + 1];
  memcpy(all, options, sizeof options);
  all[NOPTION] = arch;
  NvrtcProgram program = NULL;
  int status = c->api.nvrtcCreateProgram(&program, source, "polygrad.cu", 0, NULL, NULL);
  if (status != 0) return base_fail(b, POLY_ERROR_RUNTIME, "NVRTC cannot be used (%d)", status);
  c->runtime->compilations++;
  status = c->api.nvrtcCompileProgram(program, NOPTION + 1, all);
  bool ok = status == 0 ? take_image(c, program, image) : compile_failed(c, program, status);
  c->api.nvrtcDestroyProgram(&program);
  return ok;
}

static void make_key(const CudaDevice *c, const char *source, CacheKey *key) {
  const char *text[NOPTION + 2];
  text[0] = source;
  text[1] = c->about;
  memcpy(text + 2, options, sizeof options);
  cache_key(key, NOPTION + 2, text);
}

CuModule cuda_compile_text(CudaDevice *c, const char *source) {
  Base *b = ctx_base(c->device.ctx);
  CacheKey key;
  make_key(c, source, &key);
  const char *dir = c->runtime->cache_dir && cache_usable(c->runtime->cache_dir) ? c->runtime->cache_dir : NULL;
  Image image = {0};
  CuModule module = NULL;
  if (dir) image.at = cache_get(b, dir, &key, &image.bytes);
  if (image.at && c->api.cuModuleLoadData(&module, image.at) != CU_OK) module = NULL;
  if (module) {
    mem_free(b, image.at, image.bytes);
    return module;
  }
  mem_free(b, image.at, image.bytes);
  image = (Image){0};
  if (compile(c, source, &image) && cuda_ok(c, c->api.cuModuleLoadData(&module, image.at), "loading kernels") && dir)
    cache_put(dir, &key, image.at, image.bytes, c->runtime->cache_limit); /* else the next process compiles it again */
  mem_free(b, image.at, image.bytes);
  return module;
}
