/* The peer of all_reduce_bench.py: sums of floats by MPI. Rank 0 reads lines "COUNT TIMES" and answers each with
   the microseconds that one of so many sums of so many floats took; "0 0" ends all. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (;;) {
    long long order[2] = {0, 0};
    if (rank == 0 && scanf("%lld %lld", &order[0], &order[1]) != 2) order[0] = 0;
    MPI_Bcast(order, 2, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    if (order[0] <= 0 || order[1] <= 0) break;
    float* mine = malloc((size_t)order[0] * sizeof(float));
    float* sum = malloc((size_t)order[0] * sizeof(float));
    if (mine == NULL || sum == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    for (long long i = 0; i < order[0]; ++i) mine[i] = (float)(rank + 1);
    /* Connections are made by the first one. */
    MPI_Allreduce(mine, sum, (int)order[0], MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (long long i = 0; i < order[1]; ++i)
      MPI_Allreduce(mine, sum, (int)order[0], MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    const double took = MPI_Wtime() - start;
    if (sum[order[0] - 1] != (float)(size * (size + 1) / 2)) MPI_Abort(MPI_COMM_WORLD, 2);
    if (rank == 0) {
      printf("%.3f\n", took / (double)order[1] * 1e6);
      fflush(stdout);
    }
    free(mine);
    free(sum);
  }
  MPI_Finalize();
  return 0;
}
