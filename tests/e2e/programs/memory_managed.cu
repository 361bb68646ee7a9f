// Managed memory: variables, attributes, advice, a linked list.
//
// RUN: %check %s %t
#include "program.h"

struct Node {
  int value;
  Node* next;
};

__managed__ int total = 0;

__global__ void Walk(const Node* node) {
  for (; node != nullptr; node = node->next) total += node->value;
}
__global__ void Grow(Node* node) {
  for (; node != nullptr; node = node->next) node->value += 1;
}

int main() {
  Node* first = nullptr;
  for (int i = 1; i <= 100; ++i) {
    Node* node = nullptr;
    CHECK(cudaMallocManaged(&node, sizeof(Node)));
    *node = {i, first};
    first = node;
  }
  Grow<<<1, 1>>>(first);
  Walk<<<1, 1>>>(first);
  CHECK(cudaDeviceSynchronize());
  EXPECT(total == 5050 + 100);
  int values = 0;
  for (Node* n = first; n != nullptr; n = n->next) values += n->value;
  EXPECT(values == total);
  total = 1;
  Walk<<<1, 1>>>(first);
  CHECK(cudaDeviceSynchronize());
  EXPECT(total == 1 + values);

  cudaPointerAttributes a;
  CHECK(cudaPointerGetAttributes(&a, first));
  EXPECT(a.type == cudaMemoryTypeManaged && a.devicePointer == first);
  CHECK(cudaPointerGetAttributes(&a, &total));
  EXPECT(a.type == cudaMemoryTypeManaged && a.devicePointer == &total &&
         a.hostPointer == &total);
#if CUDART_VERSION < 12020
  const int here = 0;
#else
  const cudaMemLocation here = {cudaMemLocationTypeDevice, 0};
#endif
  CHECK(cudaMemAdvise(first, sizeof(Node), cudaMemAdviseSetReadMostly, here));
  CHECK(cudaMemAdvise(first, sizeof(Node), cudaMemAdviseUnsetReadMostly, here));
  CHECK(cudaMemPrefetchAsync(first, sizeof(Node), here, 0));
  int read_mostly = -1;
  CHECK(cudaMemRangeGetAttribute(&read_mostly, sizeof read_mostly,
                                 cudaMemRangeAttributeReadMostly, first,
                                 sizeof(Node)));
  EXPECT(read_mostly == 0);
  CHECK(cudaDeviceSynchronize());
  while (first != nullptr) {
    Node* next = first->next;
    CHECK(cudaFree(first));
    first = next;
  }
  return Pass();
}
