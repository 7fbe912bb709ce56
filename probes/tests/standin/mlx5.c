/*
 * A stand-in for the calls of libmlx5 that give a queue pair a port of a bond, for devices of the stand-in verbs library.
 * A queue pair has port 1 until it is given another one, as under queue_affinity. Told by the environment:
 *
 *   STANDIN_MLX5_SET=file          a line "device port" is appended for each port that was set
 *   STANDIN_MLX5_REFUSES=errno     mlx5dv_modify_qp_lag_port fails, for all queue pairs of the second device
 *   STANDIN_MLX5_ACTIVE=port       queue pairs send from this port whatever is set, as after the other lost its link
 *   STANDIN_MLX5_OTHER=1           no device is one of mlx5
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 16 };

static pthread_mutex_t big = PTHREAD_MUTEX_INITIALIZER;
static uint8_t ports[MOST];

_Bool mlx5dv_is_supported(struct ibv_device *device)
{
	return device && !getenv("STANDIN_MLX5_OTHER");
}

int mlx5dv_query_qp_lag_port(struct ibv_qp *qp, uint8_t *port_num, uint8_t *active_port_num)
{
	const char *active = getenv("STANDIN_MLX5_ACTIVE");

	pthread_mutex_lock(&big);
	*port_num = ports[qp->qp_num % MOST] ? ports[qp->qp_num % MOST] : 1;
	pthread_mutex_unlock(&big);
	*active_port_num = active ? atoi(active) : *port_num;
	return 0;
}

int mlx5dv_modify_qp_lag_port(struct ibv_qp *qp, uint8_t port_num)
{
	const char *refuses = getenv("STANDIN_MLX5_REFUSES"), *set = getenv("STANDIN_MLX5_SET");
	const char *device = qp->context->device->name;
	FILE *file;

	if (refuses && !strcmp(device, "stand1"))
		return atoi(refuses);
	if (qp->state != IBV_QPS_RTS)
		return EOPNOTSUPP;
	pthread_mutex_lock(&big);
	ports[qp->qp_num % MOST] = port_num;
	if (set && (file = fopen(set, "a"))) {
		fprintf(file, "%s %d\n", device, port_num);
		fclose(file);
	}
	pthread_mutex_unlock(&big);
	return 0;
}
