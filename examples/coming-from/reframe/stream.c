/* STREAM's four kernels, ten times each; the best rate of each, and whether the result is right. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double *a, *b, *c;
static const double scalar = 3;

static void run_kernel(int kernel, long n) {
#pragma omp parallel for
  for (long i = 0; i < n; ++i) {
    if (kernel == 0) c[i] = a[i];
    if (kernel == 1) b[i] = scalar * c[i];
    if (kernel == 2) c[i] = a[i] + b[i];
    if (kernel == 3) a[i] = b[i] + scalar * c[i];
  }
}

int main(int argc, char** argv) {
  const char* const names[] = {"Copy", "Scale", "Add", "Triad"};
  const int arrays[] = {2, 2, 3, 3};
  double best_s[] = {1e30, 1e30, 1e30, 1e30};
  const long n = argc > 1 ? atol(argv[1]) : 1000000;
  a = malloc((size_t)n * sizeof *a);
  b = malloc((size_t)n * sizeof *b);
  c = malloc((size_t)n * sizeof *c);
  if (a == NULL || b == NULL || c == NULL) return 1;
  for (long i = 0; i < n; ++i) {
    a[i] = (double)(i % 5);
    b[i] = c[i] = 0;
  }
  for (int round = 0; round < 10; ++round) {
    for (int kernel = 0; kernel < 4; ++kernel) {
      const double begin_s = now_s();
      run_kernel(kernel, n);
      const double took_s = now_s() - begin_s;
      if (took_s < best_s[kernel]) best_s[kernel] = took_s;
    }
  }
  double factor = 1; /* of a in a round: c = a, b = 3 a, c = 4 a, a = 15 a */
  for (int round = 0; round < 10; ++round) factor *= 15;
  int right = 1;
  for (long i = 0; i < n; ++i) right = right && a[i] == factor * (double)(i % 5);
  for (int kernel = 0; kernel < 4; ++kernel)
    printf("%s: %.1f\n", names[kernel], 8e-6 * arrays[kernel] * (double)n / best_s[kernel]);
  printf("%s\n", right ? "solution validates" : "solution is wrong");
  free(a);
  free(b);
  free(c);
  return right ? 0 : 1;
}
