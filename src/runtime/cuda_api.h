/* cuda_api.h: what the library uses of CUDA, in declarations of its own: the driver, the run-time compiler (NVRTC) and
 * the matrix products (cuBLASLt) are looked for when the device is opened, and no header of theirs is needed to build.
 * Numbers and layouts are those of CUDA 11.8 to 13. Private to src/runtime. */
#ifndef POLY_CUDA_API_H
#define POLY_CUDA_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef unsigned long long CuAddress;
typedef struct CuContextTag *CuContext;
typedef struct CuModuleTag *CuModule;
typedef struct CuFunctionTag *CuFunction;
typedef struct CuStreamTag *CuStream;
typedef struct CuEventTag *CuEvent;
typedef struct CuGraphTag *CuGraph;
typedef struct CuGraphExecTag *CuGraphExec;
typedef struct CuGraphNodeTag *CuGraphNode;

enum { CU_OK = 0, CU_OUT_OF_MEMORY = 2, CU_NO_DEVICE = 100 };
enum {
  CU_THREADS_PER_BLOCK = 1,
  CU_MULTIPROCESSORS = 16,
  CU_MEMORY_CLOCK = 36,
  CU_MEMORY_BITS = 37,
  CU_L2_BYTES = 38,
  CU_MAJOR = 75,
  CU_MINOR = 76,
  CU_SHARED_BYTES = 97 /* of a block, if it asks for it */
};
enum { CU_STREAM_NON_BLOCKING = 1, CU_CAPTURE_RELAXED = 2, CU_FUNCTION_SHARED = 8 };

typedef struct CuKernelNode {
  CuFunction function;
  unsigned grid[3], block[3], shared;
  void **params, **extra;
} CuKernelNode;

/* X(name of the function, arguments); the symbol is the version that has these arguments in every driver from 11.8 on.
 */
#define CUDA_DRIVER(X)                                                                                                 \
  X(cuInit, (unsigned flags))                                                                                          \
  X(cuDriverGetVersion, (int *version))                                                                                \
  X(cuGetErrorName, (int error, const char **text))                                                                    \
  X(cuGetErrorString, (int error, const char **text))                                                                  \
  X(cuDeviceGetCount, (int *n))                                                                                        \
  X(cuDeviceGet, (int *device, int number))                                                                            \
  X(cuDeviceGetName, (char *name, int n, int device))                                                                  \
  X(cuDeviceGetAttribute, (int *value, int attribute, int device))                                                     \
  X(cuDeviceTotalMem_v2, (size_t * bytes, int device))                                                                 \
  X(cuDevicePrimaryCtxRetain, (CuContext * context, int device))                                                       \
  X(cuDevicePrimaryCtxRelease_v2, (int device))                                                                        \
  X(cuCtxGetCurrent, (CuContext * context))                                                                            \
  X(cuCtxSetCurrent, (CuContext context))                                                                              \
  X(cuCtxSynchronize, (void))                                                                                          \
  X(cuMemGetInfo_v2, (size_t * available, size_t * total))                                                             \
  X(cuMemAlloc_v2, (CuAddress * p, size_t bytes))                                                                      \
  X(cuMemFree_v2, (CuAddress p))                                                                                       \
  X(cuMemHostAlloc, (void **p, size_t bytes, unsigned flags))                                                          \
  X(cuMemFreeHost, (void *p))                                                                                          \
  X(cuMemcpyHtoDAsync_v2, (CuAddress to, const void *from, size_t bytes, CuStream stream))                             \
  X(cuMemcpyDtoHAsync_v2, (void *to, CuAddress from, size_t bytes, CuStream stream))                                   \
  X(cuMemcpyDtoDAsync_v2, (CuAddress to, CuAddress from, size_t bytes, CuStream stream))                               \
  X(cuMemsetD8Async, (CuAddress p, unsigned char byte, size_t bytes, CuStream stream))                                 \
  X(cuStreamCreate, (CuStream * stream, unsigned flags))                                                               \
  X(cuStreamDestroy_v2, (CuStream stream))                                                                             \
  X(cuStreamSynchronize, (CuStream stream))                                                                            \
  X(cuEventCreate, (CuEvent * event, unsigned flags))                                                                  \
  X(cuEventDestroy_v2, (CuEvent event))                                                                                \
  X(cuEventRecord, (CuEvent event, CuStream stream))                                                                   \
  X(cuEventSynchronize, (CuEvent event))                                                                               \
  X(cuEventQuery, (CuEvent event))                                                                                     \
  X(cuStreamWaitEvent, (CuStream stream, CuEvent event, unsigned flags))                                               \
  X(cuEventElapsedTime, (float *ms, CuEvent from, CuEvent to))                                                         \
  X(cuModuleLoadData, (CuModule * module, const void *image))                                                          \
  X(cuModuleUnload, (CuModule module))                                                                                 \
  X(cuModuleGetFunction, (CuFunction * function, CuModule module, const char *name))                                   \
  X(cuFuncSetAttribute, (CuFunction function, int attribute, int value))                                               \
  X(cuLaunchKernel, (CuFunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,             \
                     unsigned bz, unsigned shared, CuStream stream, void **params, void **extra))                      \
  X(cuStreamBeginCapture_v2, (CuStream stream, int mode))                                                              \
  X(cuStreamEndCapture, (CuStream stream, CuGraph * graph))                                                            \
  X(cuStreamGetCaptureInfo_v2,                                                                                         \
    (CuStream stream, int *status, uint64_t *id, CuGraph *graph, const CuGraphNode **last, size_t *nlast))             \
  X(cuGraphInstantiateWithFlags, (CuGraphExec * exec, CuGraph graph, unsigned long long flags))                        \
  X(cuGraphExecKernelNodeSetParams, (CuGraphExec exec, CuGraphNode node, const CuKernelNode *params))                  \
  X(cuGraphLaunch, (CuGraphExec exec, CuStream stream))                                                                \
  X(cuGraphExecDestroy, (CuGraphExec exec))                                                                            \
  X(cuGraphDestroy, (CuGraph graph))

enum { CU_ADD_DEPENDENCIES = 0, CU_SET_DEPENDENCIES = 1 };

typedef struct NvrtcProgramTag *NvrtcProgram;
#define CUDA_NVRTC(X)                                                                                                  \
  X(nvrtcVersion, (int *major, int *minor))                                                                            \
  X(nvrtcGetNumSupportedArchs, (int *n))                                                                               \
  X(nvrtcGetSupportedArchs, (int *archs))                                                                              \
  X(nvrtcCreateProgram, (NvrtcProgram * program, const char *source, const char *name, int nheader,                    \
                         const char *const *header, const char *const *include))                                       \
  X(nvrtcDestroyProgram, (NvrtcProgram * program))                                                                     \
  X(nvrtcCompileProgram, (NvrtcProgram program, int noption, const char *const *option))                               \
  X(nvrtcGetProgramLogSize, (NvrtcProgram program, size_t * n))                                                        \
  X(nvrtcGetProgramLog, (NvrtcProgram program, char *log))                                                             \
  X(nvrtcGetCUBINSize, (NvrtcProgram program, size_t * n))                                                             \
  X(nvrtcGetCUBIN, (NvrtcProgram program, char *cubin))                                                                \
  X(nvrtcGetPTXSize, (NvrtcProgram program, size_t * n))                                                               \
  X(nvrtcGetPTX, (NvrtcProgram program, char *ptx))

typedef struct LtTag *Lt;
typedef struct LtLayoutTag *LtLayout;
typedef struct LtProductTag *LtProduct;
typedef struct LtPreferenceTag *LtPreference;
typedef struct LtAlgorithm {
  uint64_t data[8];
} LtAlgorithm;
typedef struct LtChoice {
  LtAlgorithm algorithm;
  size_t workspace;
  int status;
  float waves;
  int reserved[4];
} LtChoice;
enum { LT_R_32F = 0, LT_R_64F = 1, LT_R_16F = 2, LT_R_16BF = 14 };           /* types of elements */
enum { LT_COMPUTE_32F = 68, LT_COMPUTE_32F_TF32 = 77, LT_COMPUTE_64F = 70 }; /* how products are summed */
enum { LT_TRANSPOSE_A = 3, LT_TRANSPOSE_B = 4 };                             /* of a product */
enum { LT_BATCH_COUNT = 5, LT_BATCH_STRIDE = 6 };                            /* of a layout */
enum { LT_WORKSPACE = 1, LT_ALIGNMENT_A = 5, LT_ALIGNMENT_B = 6, LT_ALIGNMENT_C = 7, LT_ALIGNMENT_D = 8 };
#define CUDA_CUBLASLT(X)                                                                                               \
  X(cublasLtCreate, (Lt * lt))                                                                                         \
  X(cublasLtDestroy, (Lt lt))                                                                                          \
  X(cublasLtMatmulDescCreate, (LtProduct * product, int compute, int scale))                                           \
  X(cublasLtMatmulDescDestroy, (LtProduct product))                                                                    \
  X(cublasLtMatmulDescSetAttribute, (LtProduct product, int attribute, const void *value, size_t bytes))               \
  X(cublasLtMatrixLayoutCreate, (LtLayout * layout, int type, uint64_t rows, uint64_t cols, int64_t ld))               \
  X(cublasLtMatrixLayoutDestroy, (LtLayout layout))                                                                    \
  X(cublasLtMatrixLayoutSetAttribute, (LtLayout layout, int attribute, const void *value, size_t bytes))               \
  X(cublasLtMatmulPreferenceCreate, (LtPreference * preference))                                                       \
  X(cublasLtMatmulPreferenceDestroy, (LtPreference preference))                                                        \
  X(cublasLtMatmulPreferenceSetAttribute, (LtPreference preference, int attribute, const void *value, size_t bytes))   \
  X(cublasLtMatmulAlgoGetHeuristic, (Lt lt, LtProduct product, LtLayout a, LtLayout b, LtLayout c, LtLayout d,         \
                                     LtPreference preference, int wanted, LtChoice *choice, int *found))               \
  X(cublasLtMatmul, (Lt lt, LtProduct product, const void *alpha, const void *a, LtLayout la, const void *b,           \
                     LtLayout lb, const void *beta, const void *c, LtLayout lc, void *d, LtLayout ld,                  \
                     const LtAlgorithm *algorithm, void *workspace, size_t workspace_bytes, CuStream stream))

#define CUDA_POINTER(name, args) int(*name) args;
typedef struct CudaApi {
  void *driver, *nvrtc, *lt; /* handles of the libraries; NULL: not there */
  int version;               /* of the driver: 1000 * major + 10 * minor */
  int compiler[2];           /* version of NVRTC */
  size_t lt_version;         /* of cuBLASLt; 0: unknown */
  char nvrtc_path[512], lt_path[512];
  CUDA_DRIVER(CUDA_POINTER)
  /* cuStreamUpdateCaptureDependencies; NULL: the driver has none. */
  int (*update_dependencies)(CuStream stream, CuGraphNode *node, size_t n, unsigned flags);
  CUDA_NVRTC(CUDA_POINTER)
  CUDA_CUBLASLT(CUDA_POINTER)
} CudaApi;
#undef CUDA_POINTER

/* Loads the driver and sets it up. False: message says what is missing and what to do. */
bool cuda_api_driver(CudaApi *api, char *message, size_t n);
/* Loads the compiler; false and a message that lists where it was looked for. */
bool cuda_api_nvrtc(CudaApi *api, char *message, size_t n);
/* Loads cuBLASLt if there is one. */
bool cuda_api_cublaslt(CudaApi *api);
void cuda_api_close(CudaApi *api);

#endif
