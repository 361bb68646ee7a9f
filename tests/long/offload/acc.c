#include <openacc.h>
#include <stdio.h>
#include <stdlib.h>
#define N 300
#pragma acc routine seq
static float half(float v) { return v * 0.5f; }
int main(void) {
  float (*a)[N] = malloc(sizeof(float[N][N])),
        (*b)[N] = malloc(sizeof(float[N][N])), err = 0;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) a[i][j] = b[i][j] = (i * 7 + j * 3) % 11;
#pragma acc data copy(a[0 : N]) create(b[0 : N])
  for (int it = 0; it < 5; it++) {
    err = 0;
#pragma acc parallel loop gang reduction(max : err)
    for (int i = 1; i < N - 1; i++) {
#pragma acc loop vector reduction(max : err)
      for (int j = 1; j < N - 1; j++) {
        b[i][j] =
            half(half(a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]));
        float e = b[i][j] > a[i][j] ? b[i][j] - a[i][j] : a[i][j] - b[i][j];
        if (e > err) err = e;
      }
    }
#pragma acc parallel loop collapse(2)
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++) a[i][j] = b[i][j];
  }
  float (*c)[N] = malloc(sizeof(float[N][N])),
        (*d)[N] = malloc(sizeof(float[N][N])), want = 0;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) c[i][j] = d[i][j] = (i * 7 + j * 3) % 11;
  for (int it = 0; it < 5; it++) {
    want = 0;
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++) {
        d[i][j] =
            (c[i - 1][j] + c[i + 1][j] + c[i][j - 1] + c[i][j + 1]) * 0.25f;
        float e = d[i][j] > c[i][j] ? d[i][j] - c[i][j] : c[i][j] - d[i][j];
        if (e > want) want = e;
      }
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++) c[i][j] = d[i][j];
  }
  int bad = err != want;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) bad += a[i][j] != c[i][j];
  long s = 0;
  int hits = 0;
#pragma acc parallel num_gangs(5) num_workers(4) vector_length(32) copy(s, hits)
  {
#pragma acc loop gang worker vector reduction(+ : s)
    for (int i = 0; i < 10000; i++) s += i;
#pragma acc atomic
    hits++;
  }
  bad += s != 49995000 || hits != 5;
  printf("devices %d, %d bad: %s\n", acc_get_num_devices(acc_device_nvidia),
         bad, bad ? "FAIL" : "PASS");
  return bad != 0;
}
