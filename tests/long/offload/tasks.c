#include <omp.h>
#include <stdio.h>
int main(void) {
  int bad = 0, total = 0, fib[20] = {0};
#pragma omp target map(tofrom : total, fib)
#pragma omp parallel num_threads(4)
#pragma omp single
  {
    for (int i = 0; i < 20; i++) {
#pragma omp task firstprivate(i) shared(fib)
      {
        int a = 0, b = 1;
        for (int k = 0; k < i; k++) {
          int c = a + b;
          a = b;
          b = c;
        }
        fib[i] = a;
      }
    }
#pragma omp taskwait
    for (int i = 0; i < 20; i++) total += fib[i];
#pragma omp taskloop grainsize(2) shared(total)
    for (int i = 0; i < 10; i++) {
#pragma omp atomic
      total += i;
    }
  }
  int a = 0, b = 1, want = 45;
  for (int i = 0; i < 20; i++) {
    bad += fib[i] != a;
    want += a;
    int c = a + b;
    a = b;
    b = c;
  }
  bad += total != want;
  // nowait and depend between target regions
  int x = 1, y = 0;
#pragma omp target nowait map(tofrom : x) depend(out : x)
  x += 41;
#pragma omp target nowait map(tofrom : y) map(to : x) depend(in : x) \
    depend(out : y)
  y = x * 2;
#pragma omp taskwait
  bad += x != 42 || y != 84;
#pragma omp target
  printf("from the device %d %.2f %s\n", 7, 2.5, "text");
  printf("%d bad: %s\n", bad, bad ? "FAIL" : "PASS");
  return bad;
}
