// Rays: spheres and planes with mirrors and glass, triangles by a hierarchy of
// boxes, volumes, distances of implicit surfaces, caustics of a lens.

struct Vec {
  float x, y, z;
};
__device__ Vec operator+(Vec a, Vec b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
__device__ Vec operator-(Vec a, Vec b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
__device__ Vec operator*(Vec a, float s) { return {a.x * s, a.y * s, a.z * s}; }
__device__ Vec operator*(Vec a, Vec b) {
  return {a.x * b.x, a.y * b.y, a.z * b.z};
}
__device__ float Dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ Vec Cross(Vec a, Vec b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
__device__ Vec Unit(Vec a) { return a * rsqrtf(Dot(a, a)); }

struct Sphere {
  Vec centre;
  float radius;
  Vec colour;
  float mirror, glass;
};
__constant__ Sphere spheres[16];

__device__ int Nearest(Vec from, Vec to, int count, float* distance) {
  int found = -1;
  *distance = 1e30f;
  for (int i = 0; i < count; ++i) {
    const Vec l = spheres[i].centre - from;
    const float along = Dot(l, to), d2 = Dot(l, l) - along * along;
    const float r2 = spheres[i].radius * spheres[i].radius;
    if (d2 > r2) continue;
    const float half = sqrtf(r2 - d2);
    const float t = along - half > 1e-3f ? along - half : along + half;
    if (t > 1e-3f && t < *distance) *distance = t, found = i;
  }
  return found;
}

__global__ void Trace(uchar4* out, int width, int height, int count, Vec light,
                      int depth) {
  const int px = blockIdx.x * blockDim.x + threadIdx.x;
  const int py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= width || py >= height) return;
  Vec from = {0, 0, -10};
  Vec to = Unit(
      {(px - width / 2) / (float)width, (py - height / 2) / (float)width, 1});
  Vec colour = {0, 0, 0}, weight = {1, 1, 1};
  for (int bounce = 0; bounce < depth; ++bounce) {
    float t;
    const int hit = Nearest(from, to, count, &t);
    const float floor = (-2 - from.y) / to.y;
    if (floor > 1e-3f && floor < t) {
      const Vec p = from + to * floor;
      const bool dark = ((int)floorf(p.x) + (int)floorf(p.z)) & 1;
      float shadow;
      const Vec l = Unit(light - p);
      const float lit = Nearest(p, l, count, &shadow) < 0 ? 1 : 0.3f;
      colour = colour + weight * (lit * (dark ? 0.2f : 0.9f));
      break;
    }
    if (hit < 0) {
      colour = colour + weight * Vec{0.4f, 0.6f, 0.5f + 0.5f * to.y};
      break;
    }
    const Sphere s = spheres[hit];
    const Vec p = from + to * t;
    Vec n = Unit(p - s.centre);
    const Vec l = Unit(light - p);
    float shadow;
    const float facing = fmaxf(Dot(n, l), 0);
    const float lit = Nearest(p, l, count, &shadow) < 0 ? facing : 0;
    const Vec h = Unit(l - to);
    const float shine = powf(fmaxf(Dot(n, h), 0), 32);
    const float own = 1 - s.mirror - s.glass;
    colour = colour + weight * (s.colour * (own * (0.1f + 0.9f * lit)) +
                                Vec{shine, shine, shine} * lit);
    const bool inside = Dot(to, n) > 0;
    if (inside) n = n * -1;
    if (s.glass > s.mirror) {
      const float eta = inside ? 1.5f : 1 / 1.5f, c = -Dot(to, n);
      const float k = 1 - eta * eta * (1 - c * c);
      to = k < 0 ? to + n * (2 * c) : Unit(to * eta + n * (eta * c - sqrtf(k)));
      weight = weight * s.glass;
    } else if (s.mirror > 0) {
      to = to - n * (2 * Dot(to, n));
      weight = weight * s.mirror;
    } else {
      break;
    }
    from = p + to * 1e-3f;
  }
  const auto byte = [](float f) {
    return (unsigned char)(__saturatef(f) * 255);
  };
  out[py * width + px] =
      make_uchar4(byte(colour.x), byte(colour.y), byte(colour.z), 255);
}

struct Node {
  Vec low, high;
  int left, count;
};

__device__ bool HitsBox(const Node& node, Vec from, Vec inverse, float most) {
  const float ax = (node.low.x - from.x) * inverse.x,
              bx = (node.high.x - from.x) * inverse.x,
              ay = (node.low.y - from.y) * inverse.y,
              by = (node.high.y - from.y) * inverse.y,
              az = (node.low.z - from.z) * inverse.z,
              bz = (node.high.z - from.z) * inverse.z;
  const float in = fmaxf(fmaxf(fminf(ax, bx), fminf(ay, by)), fminf(az, bz));
  const float out = fminf(fminf(fmaxf(ax, bx), fmaxf(ay, by)), fmaxf(az, bz));
  return in <= out && out > 0 && in < most;
}

__global__ void Hierarchy(const Node* nodes, const Vec* corners,
                          const int* order, const Vec* origins,
                          const Vec* directions, float4* hits, int rays) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rays) return;
  const Vec from = origins[i], to = directions[i];
  const Vec inverse = {1 / to.x, 1 / to.y, 1 / to.z};
  float4 best = make_float4(1e30f, 0, 0, -1);
  int stack[32], depth = 0;
  stack[depth++] = 0;
  while (depth > 0) {
    const Node node = nodes[stack[--depth]];
    if (!HitsBox(node, from, inverse, best.x)) continue;
    if (node.count == 0) {
      stack[depth++] = node.left;
      stack[depth++] = node.left + 1;
      continue;
    }
    for (int k = 0; k < node.count; ++k) {
      const int triangle = order[node.left + k];
      const Vec a = corners[3 * triangle], e1 = corners[3 * triangle + 1] - a,
                e2 = corners[3 * triangle + 2] - a;
      const Vec p = Cross(to, e2);
      const float d = Dot(e1, p);
      if (fabsf(d) < 1e-9f) continue;
      const Vec s = from - a;
      const float u = Dot(s, p) / d;
      const Vec q = Cross(s, e1);
      const float v = Dot(to, q) / d, t = Dot(e2, q) / d;
      if (u >= 0 && v >= 0 && u + v <= 1 && t > 1e-4f && t < best.x) {
        best = make_float4(t, u, v, triangle);
      }
    }
  }
  hits[i] = best;
}

__global__ void Volume(unsigned* out, cudaTextureObject_t volume,
                       cudaTextureObject_t colours, int width, int height,
                       float density, float brightness, float step) {
  const int px = blockIdx.x * blockDim.x + threadIdx.x;
  const int py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= width || py >= height) return;
  const Vec from = {0, 0, 4};
  const Vec to = Unit({2.0f * px / width - 1, 2.0f * py / height - 1, -2});
  const Vec low = (Vec{-1, -1, -1} - from) * Vec{1 / to.x, 1 / to.y, 1 / to.z};
  const Vec high = (Vec{1, 1, 1} - from) * Vec{1 / to.x, 1 / to.y, 1 / to.z};
  const float near = fmaxf(fmaxf(fminf(low.x, high.x), fminf(low.y, high.y)),
                           fminf(low.z, high.z));
  const float far = fminf(fminf(fmaxf(low.x, high.x), fmaxf(low.y, high.y)),
                          fmaxf(low.z, high.z));
  float4 sum = make_float4(0, 0, 0, 0);
  for (float t = fmaxf(near, 0); t < far && sum.w < 0.95f; t += step) {
    const Vec p = from + to * t;
    const float sample = tex3D<float>(volume, p.x * 0.5f + 0.5f,
                                      p.y * 0.5f + 0.5f, p.z * 0.5f + 0.5f);
    float4 c = tex1D<float4>(colours, sample);
    c.w *= density;
    const float w = c.w * (1 - sum.w);
    sum.x += c.x * w, sum.y += c.y * w, sum.z += c.z * w, sum.w += w;
  }
  const auto byte = [&](float f) {
    return (unsigned)(__saturatef(f * brightness) * 255);
  };
  out[py * width + px] =
      byte(sum.x) | byte(sum.y) << 8 | byte(sum.z) << 16 | byte(sum.w) << 24;
}

__device__ float Scene(Vec p, float time) {
  const float a = sqrtf(Dot(p, p)) - 1;
  const float angle = p.y * sinf(time), c = cosf(angle), s = sinf(angle);
  const Vec q = {c * p.x - s * p.z, p.y, s * p.x + c * p.z};
  const Vec d = {fabsf(q.x) - 0.7f, fabsf(q.y) - 1.2f, fabsf(q.z) - 0.7f};
  const Vec o = {fmaxf(d.x, 0), fmaxf(d.y, 0), fmaxf(d.z, 0)};
  const float b =
      sqrtf(Dot(o, o)) + fminf(fmaxf(d.x, fmaxf(d.y, d.z)), 0) - 0.05f;
  const float torus = sqrtf(q.x * q.x + q.z * q.z) - 1.4f;
  const float t = sqrtf(torus * torus + q.y * q.y) - 0.2f;
  const float h = __saturatef(0.5f + 0.5f * (a - b) / 0.3f);
  return fminf(a + (b - a) * h - 0.3f * h * (1 - h), t);
}
__global__ void Implicit(float* out, int width, int height, float time) {
  const int px = blockIdx.x * blockDim.x + threadIdx.x;
  const int py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= width || py >= height) return;
  const Vec from = {0, 0, -4};
  const Vec to = Unit({2.0f * px / width - 1, 2.0f * py / height - 1, 1.5f});
  float t = 0;
  int steps = 0;
  for (; steps < 96; ++steps) {
    const float d = Scene(from + to * t, time);
    if (d < 1e-3f || t > 20) break;
    t += d;
  }
  const Vec p = from + to * t;
  const float e = 1e-3f;
  const Vec n =
      Unit({Scene(p + Vec{e, 0, 0}, time) - Scene(p - Vec{e, 0, 0}, time),
            Scene(p + Vec{0, e, 0}, time) - Scene(p - Vec{0, e, 0}, time),
            Scene(p + Vec{0, 0, e}, time) - Scene(p - Vec{0, 0, e}, time)});
  float soft = 1;
  for (float s = 0.02f; s < 3 && soft > 0.01f;) {
    const float d = Scene(p + Vec{0.57f, 0.57f, -0.57f} * s, time);
    soft = fminf(soft, 8 * d / s);
    s += fminf(fmaxf(d, 0.02f), 0.3f);
  }
  out[py * width + px] =
      t > 20 ? 0
             : fmaxf(Dot(n, {0.57f, 0.57f, -0.57f}), 0) * soft + steps * 1e-3f;
}
