/* cuda_api.c: finds the libraries of CUDA on this machine and their functions in them.
 *
 * The driver is libcuda.so.1. NVRTC and cuBLASLt may come with a toolkit, with the system, or inside packages of
 * Python: they are looked for by name (which also finds a copy that is already loaded), then in the folders of
 * POLY_CUDA_PATH, CUDA_HOME and CUDA_PATH, of /usr/local/cuda*, and beside this library in site-packages/nvidia. The
 * version that belongs to the driver is tried first, then older ones, then newer ones. */
#include "runtime/cuda_api.h"

#include "base/base.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Symbol {
  const char *name;
  size_t at; /* in CudaApi */
} Symbol;
#define SYMBOL(name, args) {#name, offsetof(CudaApi, name)},
static const Symbol driver_symbols[] = {CUDA_DRIVER(SYMBOL)};
static const Symbol nvrtc_symbols[] = {CUDA_NVRTC(SYMBOL)};
static const Symbol lt_symbols[] = {CUDA_CUBLASLT(SYMBOL)};
#undef SYMBOL

/* The functions of a library; the name of the first that is missing, else NULL. */
static const char *resolve(CudaApi *api, void *handle, int n, const Symbol *symbol) {
  for (int i = 0; i < n; i++) {
    void *p = dlsym(handle, symbol[i].name);
    if (!p) return symbol[i].name;
    memcpy((char *)api + symbol[i].at, &p, sizeof p);
  }
  return NULL;
}

/* ---- the driver ---- */

bool cuda_api_driver(CudaApi *api, char *message, size_t n) {
  api->driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!api->driver) {
    snprintf(message, n, "no NVIDIA driver was found (libcuda.so.1): install one, or use another device");
    return false;
  }
  const char *missing = resolve(api, api->driver, LEN(driver_symbols), driver_symbols);
  if (missing) {
    snprintf(message, n, "the NVIDIA driver is too old: it has no %s; CUDA 11.8 or newer is needed", missing);
    return false;
  }
  void *update = dlsym(api->driver, "cuStreamUpdateCaptureDependencies");
  memcpy(&api->update_dependencies, &update, sizeof update);
  int status = api->cuInit(0);
  const char *text = NULL;
  if (status != CU_OK && api->cuGetErrorString(status, &text) != CU_OK) text = NULL;
  if (status == CU_NO_DEVICE)
    snprintf(message, n, "an NVIDIA driver is there, but no GPU is (CUDA_VISIBLE_DEVICES is %s)",
             getenv("CUDA_VISIBLE_DEVICES") ? getenv("CUDA_VISIBLE_DEVICES") : "not set");
  else if (status != CU_OK)
    snprintf(message, n, "the NVIDIA driver cannot be used: %s", text ? text : "unknown error");
  if (status != CU_OK) return false;
  if (api->cuDriverGetVersion(&api->version) == CU_OK && api->version >= 11080) return true;
  snprintf(message, n, "the NVIDIA driver is too old: it supports CUDA %d.%d, and 11.8 is needed", api->version / 1000,
           api->version % 1000 / 10);
  return false;
}

/* ---- libraries that may lie in several places ---- */

/* dlopen of pattern's matches, the last one (the newest version) first. */
static void *open_match(const char *pattern, char *path, size_t n) {
  glob_t g;
  void *handle = NULL;
  if (glob(pattern, 0, NULL, &g) == 0)
    for (size_t i = g.gl_pathc; !handle && i-- > 0;)
      if ((handle = dlopen(g.gl_pathv[i], RTLD_NOW | RTLD_LOCAL))) snprintf(path, n, "%s", g.gl_pathv[i]);
  globfree(&g);
  return handle;
}

/* In folder `dir` of n characters, or in the folders lib64, lib and targets below it. */
static void *open_below(const char *dir, size_t n, const char *file, char *path, size_t npath) {
  static const char *const below[] = {"", "/lib64", "/lib", "/targets/*/lib"};
  char pattern[1024];
  void *handle = NULL;
  for (int i = 0; n && !handle && i < LEN(below); i++)
    if (snprintf(pattern, sizeof pattern, "%.*s%s/%s", (int)n, dir, below[i], file) < (int)sizeof pattern)
      handle = open_match(pattern, path, npath);
  return handle;
}

/* In packages beside the one that this library lies in: .../site-packages/polygrad/libpolygrad.so. */
static void *open_beside(const char *file, char *path, size_t n) {
  Dl_info here;
  if (!dladdr((const void *)&driver_symbols, &here) || !here.dli_fname) return NULL;
  char dir[768];
  snprintf(dir, sizeof dir, "%s", here.dli_fname);
  for (int up = 0; up < 2; up++) {
    char *slash = strrchr(dir, '/');
    if (!slash) return NULL;
    *slash = 0;
  }
  char pattern[1024];
  snprintf(pattern, sizeof pattern, "%s/nvidia/*/lib/%s", dir, file);
  return open_match(pattern, path, n);
}

static void *open_file(const char *file, char *path, size_t n) {
  void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (handle) {
    snprintf(path, n, "%s", file);
    return handle;
  }
  static const char *const roots[] = {"POLY_CUDA_PATH", "CUDA_HOME", "CUDA_PATH"};
  for (int i = 0; i < LEN(roots); i++)
    for (const char *at = getenv(roots[i]); at && *at && !handle;) {
      size_t len = strcspn(at, ":");
      handle = open_below(at, len, file, path, n);
      at += len + (at[len] == ':');
    }
  if (!handle) handle = open_below("/usr/local/cuda*", strlen("/usr/local/cuda*"), file, path, n);
  return handle ? handle : open_beside(file, path, n);
}

/* libNAME.so.VERSION with all functions; names[v] is that of version 11 + v. */
static void *open_version(CudaApi *api, const char *const *names, int nsymbol, const Symbol *symbol, char *path,
                          size_t n) {
  int own = MAX(0, MIN(api->version / 1000 - 11, 2));
  int order[] = {own, own - 1, own - 2, own + 1, own + 2};
  for (int i = 0; i < LEN(order); i++) {
    if (order[i] < 0 || order[i] > 2) continue;
    void *handle = open_file(names[order[i]], path, n);
    if (handle && !resolve(api, handle, nsymbol, symbol)) return handle;
    if (handle) dlclose(handle);
  }
  return NULL;
}

bool cuda_api_nvrtc(CudaApi *api, char *message, size_t n) {
  static const char *const names[] = {"libnvrtc.so.11.2", "libnvrtc.so.12", "libnvrtc.so.13"};
  if (!api->nvrtc)
    api->nvrtc = open_version(api, names, LEN(nvrtc_symbols), nvrtc_symbols, api->nvrtc_path, sizeof api->nvrtc_path);
  if (api->nvrtc && api->nvrtcVersion(&api->compiler[0], &api->compiler[1]) == 0) return true;
  snprintf(message, n,
           "no NVRTC was found, which compiles kernels (libnvrtc.so.13, .12 or .11.2): looked in the system's folders, "
           "POLY_CUDA_PATH, CUDA_HOME, CUDA_PATH, /usr/local/cuda* and the packages of Python; install the CUDA "
           "toolkit, or pip install nvidia-cuda-nvrtc");
  return false;
}

bool cuda_api_cublaslt(CudaApi *api) {
  static const char *const names[] = {"libcublasLt.so.11", "libcublasLt.so.12", "libcublasLt.so.13"};
  if (!api->lt) api->lt = open_version(api, names, LEN(lt_symbols), lt_symbols, api->lt_path, sizeof api->lt_path);
  size_t (*version)(void) = NULL;
  void *symbol = api->lt ? dlsym(api->lt, "cublasLtGetVersion") : NULL;
  memcpy(&version, &symbol, sizeof version);
  api->lt_version = version ? version() : 0;
  return api->lt != NULL;
}

void cuda_api_close(CudaApi *api) {
  /* The libraries stay loaded: they have threads and handlers of their own that outlive a context. */
  memset(api, 0, sizeof *api);
}
