/* a[i] = b[i] + 3 c[i], ten times; the best rate, and whether the result is right. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char** argv) {
  const long n = argc > 1 ? atol(argv[1]) : 1000000;
  double* a = malloc((size_t)n * sizeof *a);
  double* b = malloc((size_t)n * sizeof *b);
  double* c = malloc((size_t)n * sizeof *c);
  if (a == NULL || b == NULL || c == NULL) return 1;
  for (long i = 0; i < n; ++i) {
    a[i] = 0;
    b[i] = 1;
    c[i] = (double)(i % 5);
  }
  double best_s = 1e30;
  for (int round = 0; round < 10; ++round) {
    const double begin_s = now_s();
#pragma omp parallel for
    for (long i = 0; i < n; ++i) a[i] = b[i] + 3 * c[i];
    const double took_s = now_s() - begin_s;
    if (took_s < best_s) best_s = took_s;
  }
  int right = 1;
  for (long i = 0; i < n; ++i) right = right && a[i] == 1 + 3 * (double)(i % 5);
  printf("Triad: %.1f\n%s\n", 24e-6 * (double)n / best_s, right ? "solution validates" : "solution is wrong");
  free(a);
  free(b);
  free(c);
  return right ? 0 : 1;
}
