/* Adds up N numbers R times; says how long that took. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char** argv) {
  const long n = argc > 1 ? atol(argv[1]) : 1000000;
  const int rounds = argc > 2 ? atoi(argv[2]) : 20;
  double* numbers = malloc((size_t)n * sizeof *numbers);
  if (numbers == NULL) return 1;
  for (long i = 0; i < n; ++i) numbers[i] = (double)(i % 7);
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  volatile double sum = 0;
  for (int round = 0; round < rounds; ++round) {
    double part = 0;
    for (long i = 0; i < n; ++i) part += numbers[i];
    sum = sum + part;
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  printf("sum %.0f in %.6f s\n", sum, (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec));
  free(numbers);
  return 0;
}
