/* threads.h: how many threads a parallel loop may have. */
#ifndef POLY_THREADS_H
#define POLY_THREADS_H

/* wanted, 1024 at most, or 1 in a process that was forked after its parent had run loops on several threads: the OpenMP
 * runtime would wait for threads that are not there. Every parallel loop asks here. */
int threads_allowed(int wanted);

/* Called in the child of a fork. */
void threads_after_fork(void);

#endif
