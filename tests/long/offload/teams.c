#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#pragma omp declare target
int table[5] = {3, 1, 4, 1, 5};
static double weigh(double x) { return x * table[(int)x % 5]; }
#pragma omp end declare target
int main(void) {
  int bad = 0, n = 5003;
  double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b), sum = 0,
         want = 0, top = -1;
  for (int i = 0; i < n; i++) {
    a[i] = i;
    b[i] = n - i;
  }
#pragma omp target data map(to : a[0 : n]) map(tofrom : b[0 : n])
  {
#pragma omp target teams distribute parallel for reduction(+ : sum) \
    reduction(max : top)
    for (int i = 0; i < n; i++) {
      b[i] += weigh(a[i]);
      sum += b[i];
      if (b[i] > top) top = b[i];
    }
#pragma omp target teams distribute parallel for simd
    for (int i = 0; i < n; i++) b[i] = sqrt(b[i]);
  }
  static const int t[5] = {3, 1, 4, 1, 5};
  double high = -1;
  for (int i = 0; i < n; i++) {
    double v = n - i + (double)i * t[i % 5];
    want += v;
    if (v > high) high = v;
    bad += b[i] != sqrt(v);
  }
  bad += sum != want || top != high;
  // critical, atomic, single, barrier, ordered schedule, nested data
  int count = 0, seen[64] = {0}, threads = 0, one = 0;
  long crit = 0;
#pragma omp target parallel num_threads(8) \
    map(tofrom : count, seen, threads, one, crit)
  {
#pragma omp atomic
    count += omp_get_thread_num();
    seen[omp_get_thread_num()] = omp_get_num_threads();
#pragma omp barrier
#pragma omp single
    {
      threads = omp_get_num_threads();
      one++;
    }
#pragma omp critical
    crit = crit * 3 + 1;
#pragma omp for schedule(dynamic, 3)
    for (int i = 0; i < 64; i++) {
#pragma omp atomic
      seen[i] += i;
    }
  }
  long c = 0;
  for (int i = 0; i < threads; i++) c = c * 3 + 1;
  bad += count != threads * (threads - 1) / 2 || one != 1 || crit != c;
  for (int i = 0; i < 64; i++)
    bad += seen[i] != i + (i < threads ? threads : 0);
  // sections, collapse, lastprivate, update, device pointers
  int grid[7][9], last = 0;
#pragma omp target teams distribute parallel for collapse(2) lastprivate(last) \
    map(from : grid) map(tofrom : last)
  for (int y = 0; y < 7; y++)
    for (int x = 0; x < 9; x++) {
      grid[y][x] = y * 100 + x;
      last = y * 9 + x;
    }
  for (int y = 0; y < 7; y++)
    for (int x = 0; x < 9; x++) bad += grid[y][x] != y * 100 + x;
  bad += last != 62;
  int dev = omp_get_default_device(), host = omp_get_initial_device();
  int *d = omp_target_alloc(1000 * sizeof(int), dev), h[1000];
#pragma omp target teams distribute parallel for is_device_ptr(d)
  for (int i = 0; i < 1000; i++) d[i] = i * i;
  omp_target_memcpy(h, d, sizeof h, 0, 0, host, dev);
  omp_target_free(d, dev);
  for (int i = 0; i < 1000; i++) bad += h[i] != i * i;
  int where = 1;
#pragma omp target map(from : where)
  where = omp_is_initial_device();
  printf("devices %d, on the host %d, %d threads, %d bad: %s\n",
         omp_get_num_devices(), where, threads, bad,
         bad || where ? "FAIL" : "PASS");
  return bad || where;
}
