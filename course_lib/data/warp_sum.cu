// The sum of 32 numbers, by one warp. Written for this course.
// Each thread (lane) of the warp has one number, and after five exchanges each has the sum of all.

extern "C" __global__ void warp_sum(const float *numbers, float *sum)
{
    float value = numbers[threadIdx.x];

    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_xor_sync(0xffffffff, value, distance);

    if (threadIdx.x == 0)
        *sum = value;
}
