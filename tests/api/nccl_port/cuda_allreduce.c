/* A program for NCCL, as a user would bring it: all devices in one process, a stream each. nccl_port_test.py takes it
 * over to Ronde by the recipe of docs/nccl.md, builds that and runs it; and has nccl.h check it as it stands, where
 * there is one. */
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>

#define NDEV 2
#define COUNT 1000

#define CUDACHECK(cmd)                                                      \
  do {                                                                      \
    cudaError_t err = cmd;                                                  \
    if (err != cudaSuccess) {                                               \
      printf("%s:%d: '%s'\n", __FILE__, __LINE__, cudaGetErrorString(err)); \
      exit(EXIT_FAILURE);                                                   \
    }                                                                       \
  } while (0)

#define NCCLCHECK(cmd)                                                     \
  do {                                                                     \
    ncclResult_t res = cmd;                                                \
    if (res != ncclSuccess) {                                              \
      printf("%s:%d: '%s'\n", __FILE__, __LINE__, ncclGetLastError(NULL)); \
      exit(EXIT_FAILURE);                                                  \
    }                                                                      \
  } while (0)

static int done[NDEV];

static void CUDART_CB count_done(void* counter) { ++*(int*)counter; }

int main(void) {
  int devs[NDEV] = {0, 1};
  ncclComm_t comms[NDEV];
  cudaStream_t streams[NDEV], copies[NDEV];
  cudaEvent_t reduced[NDEV];
  float *sendbuff[NDEV], *recvbuff[NDEV];
  float host[COUNT];

  for (int i = 0; i < NDEV; ++i) {
    CUDACHECK(cudaSetDevice(devs[i]));
    CUDACHECK(cudaMalloc((void**)&sendbuff[i], COUNT * sizeof(float)));
    CUDACHECK(cudaMalloc((void**)&recvbuff[i], COUNT * sizeof(float)));
    for (int j = 0; j < COUNT; ++j) host[j] = (float)(i + j);
    CUDACHECK(cudaMemcpy(sendbuff[i], host, sizeof(host), cudaMemcpyHostToDevice));
    CUDACHECK(cudaMemset(recvbuff[i], 0, COUNT * sizeof(float)));
    CUDACHECK(cudaStreamCreate(&streams[i]));
    CUDACHECK(cudaStreamCreateWithFlags(&copies[i], cudaStreamNonBlocking));
    CUDACHECK(cudaEventCreateWithFlags(&reduced[i], cudaEventDisableTiming));
  }
  NCCLCHECK(ncclCommInitAll(comms, NDEV, devs));

  NCCLCHECK(ncclGroupStart());
  for (int i = 0; i < NDEV; ++i)
    NCCLCHECK(ncclAllReduce(sendbuff[i], recvbuff[i], COUNT, ncclFloat, ncclSum, comms[i], streams[i]));
  NCCLCHECK(ncclGroupEnd());

  for (int i = 0; i < NDEV; ++i) {
    CUDACHECK(cudaSetDevice(devs[i]));
    CUDACHECK(cudaEventRecord(reduced[i], streams[i]));
    CUDACHECK(cudaStreamWaitEvent(copies[i], reduced[i], 0));
    CUDACHECK(cudaLaunchHostFunc(copies[i], count_done, &done[i]));
    CUDACHECK(cudaStreamSynchronize(copies[i]));
    CUDACHECK(cudaEventSynchronize(reduced[i]));
    if (cudaStreamQuery(streams[i]) == cudaErrorNotReady) return EXIT_FAILURE;
    CUDACHECK(cudaMemcpy(host, recvbuff[i], sizeof(host), cudaMemcpyDeviceToHost));
    printf("rank %d: the last sum is %g, %d host function called\n", i, host[COUNT - 1], done[i]);
  }

  NCCLCHECK(ncclGroupStart());
  for (int i = 0; i < NDEV; ++i) {
    CUDACHECK(cudaSetDevice(devs[i]));
    NCCLCHECK(ncclBroadcast(recvbuff[i], recvbuff[i], COUNT, ncclFloat, 0, comms[i], cudaStreamLegacy));
  }
  NCCLCHECK(ncclGroupEnd());

  for (int i = 0; i < NDEV; ++i) {
    CUDACHECK(cudaSetDevice(devs[i]));
    CUDACHECK(cudaStreamDestroy(streams[i]));
    CUDACHECK(cudaStreamDestroy(copies[i]));
    CUDACHECK(cudaEventDestroy(reduced[i]));
    NCCLCHECK(ncclCommDestroy(comms[i]));
    CUDACHECK(cudaFree(sendbuff[i]));
    CUDACHECK(cudaFree(recvbuff[i]));
  }
  printf("done\n");
  return EXIT_SUCCESS;
}
