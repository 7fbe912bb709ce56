/*
 * A stand-in for libibverbs.so.1, for tests: two RoCE devices inside the process that loads it, READ and WRITE as
 * memcpy between its registered regions. Work is done when a completion queue is polled, in posting order.
 *
 * It is strict where a real device is: states, GID index, locked queue sizes, keys, bounds, and one completion for
 * each request that fails or is flushed, asked for or not.
 *
 * Environment, read at the first ibv_get_device_list:
 *   STANDIN_FAULT=device:n:status  the n+1st operation of the device (or * for each) completes with this status number
 *   STANDIN_FAULT_ONCE=1           that fault comes once, and the device works again afterwards
 *   STANDIN_DOWN_AFTER_FAULT=1     the port of a device that had its fault is DOWN from then on
 *   STANDIN_STATE=device:state     port state (1 DOWN, 2 INIT; default 4 ACTIVE)
 *   STANDIN_REG_MR=errno           ibv_reg_mr fails
 *   STANDIN_RTR=device:errno       ibv_modify_qp to RTR fails
 *   STANDIN_FLOW_LABELS=1          ibv_modify_qp to RTR demands a flow label; else it demands that there is none
 *   STANDIN_NO_DATA=1              completes without moving data
 *   STANDIN_DMABUF=errno           ibv_reg_dmabuf_mr fails; it is not there at all where this is compiled with NO_DMABUF_MR
 *   STANDIN_PEERMEM=1              ibv_reg_mr takes an address of a GPU (of the stand-in that RAILSCOPE_CUDA names)
 *   STANDIN_NO_DEVICES=1           as a kernel without RDMA: no list, ENOSYS
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#undef ibv_reg_mr
#undef ibv_query_port
#undef ibv_get_device_list

enum { DEVICES = 2, MOST_QPS = 256, MOST_MRS = 64, MOST_WR = 1024, INITIATOR_DEPTH = 128, RESPONDER_DEPTH = 16 };

struct work { uint64_t id, local, remote; uint32_t length, lkey, rkey; int signaled, write; };
struct cq { struct ibv_cq base; struct ibv_wc *entries; int size, head, count, overrun; };
struct qp {
	struct ibv_qp base;
	struct cq *cq;
	struct work *queue;
	int depth, head, count, used, silent; /* slots come back when a completion after them is polled, as on mlx5 */
	int dest, max_rd_atomic, max_dest_rd_atomic, device, live;
	uint32_t access;
};
struct mr { struct ibv_mr base; unsigned access; int live; uint64_t iova; char *memory; };

static pthread_mutex_t big = PTHREAD_MUTEX_INITIALIZER;
static struct ibv_device devices[DEVICES];
static struct qp *qps[MOST_QPS];
static struct mr *mrs[MOST_MRS];
static long operations[DEVICES];
static long fault_after[DEVICES];
static int fault_status[DEVICES], port_state[DEVICES], rtr_errno[DEVICES], reg_mr_errno, no_data, no_devices, fault_once, down_after_fault;

static int named(const char *text, const char **rest)
{
	for (int d = 0; text && d < DEVICES; d++) {
		size_t n = strlen(devices[d].name);
		if (!strncmp(text, devices[d].name, n) && text[n] == ':') {
			*rest = text + n + 1;
			return d;
		}
	}
	return -1;
}

static void setup(void)
{
	const char *rest, *text;
	int d;

	for (d = 0; d < DEVICES; d++) {
		snprintf(devices[d].name, sizeof devices[d].name, "stand%d", d);
		devices[d].node_type = IBV_NODE_CA;
		devices[d].transport_type = IBV_TRANSPORT_IB;
		port_state[d] = IBV_PORT_ACTIVE;
		fault_after[d] = -1;
	}
	text = getenv("STANDIN_FAULT");
	for (d = 0; text && !strncmp(text, "*:", 2) && d < DEVICES; d++)
		sscanf(text, "*:%ld:%d", &fault_after[d], &fault_status[d]);
	if ((d = named(text, &rest)) >= 0)
		sscanf(rest, "%ld:%d", &fault_after[d], &fault_status[d]);
	if ((d = named(getenv("STANDIN_STATE"), &rest)) >= 0)
		port_state[d] = atoi(rest);
	if ((d = named(getenv("STANDIN_RTR"), &rest)) >= 0)
		rtr_errno[d] = atoi(rest);
	if ((text = getenv("STANDIN_REG_MR")))
		reg_mr_errno = atoi(text);
	no_data = getenv("STANDIN_NO_DATA") != NULL;
	down_after_fault = getenv("STANDIN_DOWN_AFTER_FAULT") != NULL;
	fault_once = getenv("STANDIN_FAULT_ONCE") != NULL;
	no_devices = getenv("STANDIN_NO_DEVICES") != NULL;
}

struct ibv_device **ibv_get_device_list(int *count)
{
	/* both ends of a test may ask at the same moment */
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct ibv_device **list;

	pthread_once(&once, setup);
	if (no_devices) {
		errno = ENOSYS;
		return NULL;
	}
	list = calloc(DEVICES + 1, sizeof *list);
	for (int d = 0; d < DEVICES; d++)
		list[d] = &devices[d];
	*count = DEVICES;
	return list;
}

void ibv_free_device_list(struct ibv_device **list) { free(list); }
const char *ibv_get_device_name(struct ibv_device *device) { return device->name; }

static struct mr *find_mr(uint32_t key, uint64_t address, uint32_t length, unsigned access)
{
	struct mr *mr = key < MOST_MRS ? mrs[key] : NULL;
	uint64_t start = mr ? mr->iova : 0;

	if (!mr || !mr->live || (mr->access & access) != access)
		return NULL;
	return address >= start && address + length <= start + mr->base.length ? mr : NULL;
}

static struct qp *find_qp(uint32_t number)
{
	return number < MOST_QPS && qps[number] && qps[number]->live ? qps[number] : NULL;
}

static void complete(struct qp *qp, struct work *work, int status)
{
	struct cq *cq = qp->cq;
	struct ibv_wc *wc = &cq->entries[(cq->head + cq->count) % cq->size];

	if (cq->count == cq->size) {
		cq->overrun = 1;
		return;
	}
	memset(wc, 0, sizeof *wc);
	wc->wr_id = work->id;
	wc->status = status;
	wc->qp_num = qp->base.qp_num;
	wc->byte_len = work->length;
	wc->vendor_err = qp->silent + 1; /* slots that come back; cleared when polled */
	qp->silent = 0;
	wc->opcode = work->write ? IBV_WC_RDMA_WRITE : IBV_WC_RDMA_READ;
	cq->count++;
}

/* What becomes of one request. */
static int perform(struct qp *qp, struct work *work)
{
	struct qp *peer = find_qp(qp->dest);
	struct mr *near_mr, *far_mr;
	char *here, *there;
	unsigned far = work->write ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_READ;

	if (fault_after[qp->device] >= 0 && operations[qp->device] >= fault_after[qp->device]) {
		if (down_after_fault)
			port_state[qp->device] = IBV_PORT_DOWN;
		if (fault_once)
			fault_after[qp->device] = -1;
		return fault_status[qp->device];
	}
	if (!peer || peer->base.state < IBV_QPS_RTR || peer->dest != (int)qp->base.qp_num)
		return IBV_WC_RETRY_EXC_ERR;
	near_mr = find_mr(work->lkey, work->local, work->length, IBV_ACCESS_LOCAL_WRITE);
	far_mr = find_mr(work->rkey, work->remote, work->length, far);
	if (!near_mr)
		return IBV_WC_LOC_PROT_ERR;
	if (!(peer->access & far) || !far_mr)
		return IBV_WC_REM_ACCESS_ERR;
	if (!work->write && (qp->max_rd_atomic < 1 || qp->max_rd_atomic > peer->max_dest_rd_atomic))
		return IBV_WC_REM_INV_REQ_ERR;
	here = near_mr->memory + (work->local - near_mr->iova);
	there = far_mr->memory + (work->remote - far_mr->iova);
	if (!no_data)
		memcpy(work->write ? there : here, work->write ? here : there, work->length);
	operations[qp->device]++;
	return IBV_WC_SUCCESS;
}

static int poll_cq(struct ibv_cq *base, int most, struct ibv_wc *out)
{
	struct cq *cq = (struct cq *)base;
	int taken = 0;

	pthread_mutex_lock(&big);
	for (int at = 0; at < MOST_QPS; at++) {
		struct qp *qp = qps[at];
		/* at most half a queue at a time, so that queue pairs take turns */
		for (int n = 0; qp && qp->live && qp->cq == cq && qp->count && (n <= qp->depth / 2 || qp->base.state == IBV_QPS_ERR); n++) {
			struct work *work = &qp->queue[qp->head];
			int status = qp->base.state == IBV_QPS_ERR ? IBV_WC_WR_FLUSH_ERR : perform(qp, work);
			if (status != IBV_WC_SUCCESS)
				qp->base.state = IBV_QPS_ERR;
			if (status != IBV_WC_SUCCESS || work->signaled)
				complete(qp, work, status);
			else
				qp->silent++;
			qp->head = (qp->head + 1) % qp->depth;
			qp->count--;
		}
	}
	while (taken < most && cq->count) {
		out[taken] = cq->entries[cq->head];
		if (qps[out[taken].qp_num]->live)
			qps[out[taken].qp_num]->used -= out[taken].vendor_err;
		out[taken++].vendor_err = 0;
		cq->head = (cq->head + 1) % cq->size;
		cq->count--;
	}
	if (cq->overrun)
		taken = -1;
	pthread_mutex_unlock(&big);
	return taken;
}

static int post_send(struct ibv_qp *base, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct qp *qp = (struct qp *)base;
	int answer = 0;

	pthread_mutex_lock(&big);
	for (; wr && !answer; wr = wr->next) {
		struct work *work = &qp->queue[(qp->head + qp->count) % qp->depth];
		*bad = wr;
		if (base->state != IBV_QPS_RTS && base->state != IBV_QPS_ERR)
			answer = EINVAL;
		else if (qp->used == qp->depth)
			answer = ENOMEM;
		else if (wr->num_sge != 1 || (wr->opcode != IBV_WR_RDMA_READ && wr->opcode != IBV_WR_RDMA_WRITE))
			answer = EINVAL;
		if (answer)
			break;
		*work = (struct work){ wr->wr_id, wr->sg_list->addr, wr->wr.rdma.remote_addr, wr->sg_list->length,
				       wr->sg_list->lkey, wr->wr.rdma.rkey, !!(wr->send_flags & IBV_SEND_SIGNALED),
				       wr->opcode == IBV_WR_RDMA_WRITE };
		qp->count++;
		qp->used++;
	}
	pthread_mutex_unlock(&big);
	return answer;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *context = calloc(1, sizeof *context);

	context->device = device;
	context->ops.poll_cq = poll_cq;
	context->ops.post_send = post_send;
	return context;
}

int ibv_close_device(struct ibv_context *context)
{
	free(context);
	return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	memset(attr, 0, sizeof *attr);
	strcpy(attr->fw_ver, "28.39.1002");
	attr->max_qp_wr = MOST_WR;
	attr->max_cqe = 1 << 16;
	attr->max_qp_rd_atom = RESPONDER_DEPTH;
	attr->max_qp_init_rd_atom = INITIATOR_DEPTH;
	attr->phys_port_cnt = 1;
	return context ? 0 : EINVAL;
}

int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *compat)
{
	struct ibv_port_attr *attr = (struct ibv_port_attr *)compat;

	if (port != 1)
		return EINVAL;
	attr->state = port_state[context->device - devices];
	attr->max_mtu = attr->active_mtu = IBV_MTU_4096;
	attr->gid_tbl_len = 4;
	attr->max_msg_sz = 1 << 23;
	attr->link_layer = IBV_LINK_LAYER_ETHERNET;
	return 0;
}

int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	uint8_t v4[16] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, (uint8_t)(context->device - devices), 1 };

	if (port != 1 || index < 0 || index > 3)
		return EINVAL;
	memset(gid, 0, sizeof *gid);
	if (index == 1)
		memcpy(gid->raw, v4, 16);
	return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max, uint32_t flags,
			     size_t size)
{
	if (max < 1 || flags || size != sizeof *entries)
		return -EINVAL;
	memset(entries, 0, sizeof *entries);
	ibv_query_gid(context, 1, 1, &entries->gid);
	entries->gid_index = 1;
	entries->port_num = 1;
	entries->gid_type = IBV_GID_TYPE_ROCE_V2;
	entries->ndev_ifindex = 7;
	return 1;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = calloc(1, sizeof *pd);

	pd->context = context;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	int busy = 0;

	for (int k = 0; k < MOST_MRS; k++)
		busy |= mrs[k] && mrs[k]->live && mrs[k]->base.pd == pd;
	for (int k = 0; k < MOST_QPS; k++)
		busy |= qps[k] && qps[k]->live && qps[k]->base.pd == pd;
	if (busy) {
		fprintf(stderr, "stand-in: protection domain freed before what was made from it\n");
		abort();
	}
	free(pd);
	return 0;
}

/* A region of memory that the CPU finds at `memory`. */
static struct ibv_mr *new_mr(struct ibv_pd *pd, char *memory, size_t length, uint64_t iova, unsigned access)
{
	int key = 0;
	struct mr *mr;

	pthread_mutex_lock(&big);
	while (key < MOST_MRS && mrs[key])
		key++;
	mr = key < MOST_MRS ? calloc(1, sizeof *mr) : NULL;
	if (mr) {
		mr->base = (struct ibv_mr){ pd->context, pd, memory, length, key, key, key };
		mr->iova = iova;
		mr->memory = memory;
		mr->access = access;
		mr->live = 1;
		mrs[key] = mr;
	}
	pthread_mutex_unlock(&big);
	if (!mr)
		errno = ENOMEM;
	return mr ? &mr->base : NULL;
}

static struct ibv_mr *map_mr(struct ibv_pd *pd, int fd, size_t length, uint64_t iova, unsigned access)
{
	off_t start = lseek(fd, 0, SEEK_CUR);
	char *memory = start < 0 ? MAP_FAILED : mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, start);

	return memory == MAP_FAILED ? NULL : new_mr(pd, memory, length, iova, access);
}

/* Memory of a GPU as a descriptor; -1 for the host's. */
static int gpu_range(uint64_t address, size_t length)
{
	const char *name = getenv("RAILSCOPE_CUDA");
	void *cuda = name ? dlopen(name, RTLD_NOW | RTLD_NOLOAD) : NULL;
	int (*range)(uint64_t, size_t) = cuda ? (int (*)(uint64_t, size_t))dlsym(cuda, "standin_cuda_range") : NULL;

	return range ? range(address, length) : -1;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	struct ibv_mr *mr = NULL;
	int fd = gpu_range((uintptr_t)addr, length);

	if (reg_mr_errno || iova != (uintptr_t)addr)
		errno = reg_mr_errno ? reg_mr_errno : EINVAL;
	else if (fd < 0)
		mr = new_mr(pd, addr, length, iova, access);
	else if (getenv("STANDIN_PEERMEM"))
		mr = map_mr(pd, fd, length, iova, access);
	else
		errno = EFAULT;
	if (fd >= 0) {
		int kept = errno;
		close(fd);
		errno = kept;
	}
	return mr;
}

#ifndef NO_DMABUF_MR
struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access)
{
	const char *refused = getenv("STANDIN_DMABUF");

	if (refused || offset) {
		errno = refused ? atoi(refused) : EINVAL;
		return NULL;
	}
	return map_mr(pd, fd, length, iova, access);
}
#endif

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	pthread_mutex_lock(&big);
	((struct mr *)mr)->live = 0; /* kept, so that a late use of the key is seen */
	pthread_mutex_unlock(&big);
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *user, struct ibv_comp_channel *channel, int vector)
{
	struct cq *cq = calloc(1, sizeof *cq);

	cq->base.context = context;
	cq->base.cq_context = user;
	cq->base.channel = channel;
	cq->base.cqe = cq->size = cqe;
	cq->entries = calloc(cqe, sizeof *cq->entries);
	(void)vector;
	return &cq->base;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	for (int k = 0; k < MOST_QPS; k++)
		if (qps[k] && qps[k]->live && &qps[k]->cq->base == cq) {
			fprintf(stderr, "stand-in: completion queue destroyed before its queue pairs\n");
			abort();
		}
	free(((struct cq *)cq)->entries);
	free(cq);
	return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	int number = 1;
	struct qp *qp;

	if (attr->cap.max_send_wr > MOST_WR || attr->qp_type != IBV_QPT_RC) {
		errno = EINVAL;
		return NULL;
	}
	pthread_mutex_lock(&big);
	while (number < MOST_QPS && qps[number])
		number++;
	qp = number < MOST_QPS ? calloc(1, sizeof *qp) : NULL;
	if (qp) {
		qp->base.context = pd->context;
		qp->base.pd = pd;
		qp->base.qp_num = number;
		qp->base.qp_type = IBV_QPT_RC;
		qp->cq = (struct cq *)attr->send_cq;
		qp->depth = attr->cap.max_send_wr;
		qp->queue = calloc(qp->depth, sizeof *qp->queue);
		qp->device = pd->context->device - devices;
		qp->live = 1;
		qps[number] = qp;
	}
	pthread_mutex_unlock(&big);
	if (!qp)
		errno = ENOMEM;
	return qp ? &qp->base : NULL;
}

int ibv_modify_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask)
{
	struct qp *qp = (struct qp *)base;
	int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	int rts = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		  IBV_QP_MAX_QP_RD_ATOMIC;
	int answer = EINVAL;

	pthread_mutex_lock(&big);
	if (attr->qp_state == IBV_QPS_INIT && base->state == IBV_QPS_RESET && mask == init && attr->port_num == 1) {
		qp->access = attr->qp_access_flags;
		answer = 0;
	} else if (attr->qp_state == IBV_QPS_RTR && base->state == IBV_QPS_INIT && mask == rtr) {
		qp->dest = attr->dest_qp_num;
		qp->max_dest_rd_atomic = attr->max_dest_rd_atomic;
		answer = rtr_errno[qp->device];
		/* RoCE: a global address, from a GID that is there, to one that is there; packets that may be routed */
		if (!answer && !attr->ah_attr.grh.flow_label != !getenv("STANDIN_FLOW_LABELS"))
			answer = EINVAL;
		if (!answer && (!attr->ah_attr.is_global || attr->ah_attr.grh.sgid_index != 1 ||
				attr->ah_attr.grh.dgid.raw[12] != 10 || attr->ah_attr.grh.hop_limit < 2 ||
				attr->max_dest_rd_atomic > RESPONDER_DEPTH || attr->path_mtu != IBV_MTU_4096))
			answer = EINVAL;
	} else if (attr->qp_state == IBV_QPS_RTS && base->state == IBV_QPS_RTR && mask == rts) {
		qp->max_rd_atomic = attr->max_rd_atomic;
		answer = attr->max_rd_atomic > INITIATOR_DEPTH ? EINVAL : 0;
	}
	if (!answer)
		base->state = attr->qp_state;
	pthread_mutex_unlock(&big);
	return answer;
}

int ibv_destroy_qp(struct ibv_qp *base)
{
	pthread_mutex_lock(&big);
	((struct qp *)base)->live = 0; /* kept, so that its number is not given again */
	pthread_mutex_unlock(&big);
	return 0;
}
