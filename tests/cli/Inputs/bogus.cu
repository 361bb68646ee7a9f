__global__ void Fine(int* p) { *p = 1; }

__global__ void Odd(int* p) {
  int value;
  asm volatile("bogus.b32 %0, 1;" : "=r"(value));
  *p = value;
}

int main() {
  Fine<<<1, 1>>>(nullptr);
  Odd<<<1, 1>>>(nullptr);
}
