// The sum of up to 128 numbers, by one block of four warps. Written for this course.

constexpr int WARPS = 4;

// After this, each lane of a group of `width` lanes has the sum of the group.
__device__ float sum_of_lanes(float value, int width)
{
    for (int distance = width / 2; distance > 0; distance /= 2)
        value += __shfl_xor_sync(0xffffffff, value, distance);
    return value;
}

extern "C" __global__ void block_sum(const float *numbers, float *sum, int n)
{
    __shared__ float partial[WARPS];
    __shared__ float total;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    float value = threadIdx.x < n ? numbers[threadIdx.x] : 0.0f;
    value = sum_of_lanes(value, 32);

    if (lane == 0)
        partial[warp] = value;
    __syncthreads();                        // every warp's sum is there

    value = lane < WARPS ? partial[lane] : 0.0f;
    value = sum_of_lanes(value, WARPS);

    if (threadIdx.x == 0)
        total = value;
    __syncthreads();                        // the total is there, for all threads of the block

    if (threadIdx.x == 0)
        *sum = total;
}
