/* library.h: what library.c, sort.c, select.c, search.c and matrices.c share. Private to src/runtime. */
#ifndef POLY_LIBRARY_H
#define POLY_LIBRARY_H

#include "runtime/host.h"

int64_t library_numel(const LibraryTensor *t);
int64_t library_rows(const LibraryTensor *t, int64_t *n); /* n: their length; 0 rows if it is 0 */
/* How many threads pieces of work are worth. */
int library_threads(const Device *d, const LibraryCall *call, int64_t pieces, int64_t work);
/* An element of a tensor of whole numbers. A uint64 that is too large reads as a negative number. */
int64_t library_index_at(const LibraryTensor *t, int64_t e);
bool library_argsort(Device *d, const LibraryCall *call);
bool library_topk(Device *d, const LibraryCall *call);
bool library_kth(Device *d, const LibraryCall *call);
bool library_median(Device *d, const LibraryCall *call);
bool library_searchsorted(Device *d, const LibraryCall *call);
bool library_bincount(Device *d, const LibraryCall *call);
bool library_scatter(Device *d, const LibraryCall *call);
bool library_solve(Device *d, const LibraryCall *call);
bool library_triangular(Device *d, const LibraryCall *call);
bool library_det(Device *d, const LibraryCall *call);
bool library_lu(Device *d, const LibraryCall *call);
bool library_cholesky(Device *d, const LibraryCall *call);
bool library_qr(Device *d, const LibraryCall *call);
bool library_eigh(Device *d, const LibraryCall *call);
bool library_svd(Device *d, const LibraryCall *call);

#endif
