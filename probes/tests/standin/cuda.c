/*
 * A stand-in for libcuda.so.1, for tests: GPUs whose memory is a file of the host. A device address is a reservation
 * that nobody can read or write, so that whoever takes it for the host's memory is stopped.
 *
 * It is strict where the real one is: cuInit first, a context current in the calling thread, ranges inside one
 * allocation, host pages for a dmabuf, and memory freed before its context.
 *
 * A dmabuf is a descriptor of that file, standing where the range begins. The stand-in for libibverbs maps it, and for
 * peer memory asks standin_cuda_range.
 *
 * Environment:
 *   STANDIN_CUDA_GPUS=n            how many there are (2); without one, cuInit says CUDA_ERROR_NO_DEVICE
 *   STANDIN_CUDA_VERSION=n         what cuDriverGetVersion says (12040)
 *   STANDIN_CUDA_NO_DMABUF=1       the driver says that it exports none
 *   STANDIN_CUDA_NO_GPUDIRECT=1    the driver says that the GPU cannot do GPUDirect RDMA
 *   STANDIN_CUDA_EXPORT=code       the export of a dmabuf fails
 *   STANDIN_CUDA_MEMORY=bytes      memory of each GPU (1 GiB)
 *   STANDIN_CUDA_COPY=code         copies to the host fail
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST = 64, GPUS = 8, PAGE = 4096 };
enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101,
       INVALID_CONTEXT = 201, NOT_SUPPORTED = 801 };

/* it begins 512 bytes after what is reserved, so at no page of the host or of a GPU */
struct allocation { uint64_t reserved, address; size_t bytes; char *storage; int fd, gpu, synchronous; };

static pthread_mutex_t big = PTHREAD_MUTEX_INITIALIZER;
static struct allocation allocations[MOST];
static int initialised, contexts[GPUS];
static size_t taken[GPUS];
static __thread int current; /* number of the GPU, from 1 */

static long setting(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text ? atol(text) : otherwise;
}

static int gpus(void) { return setting("STANDIN_CUDA_GPUS", 2); }

int cuInit(unsigned flags)
{
	if (flags)
		return INVALID_VALUE;
	initialised = gpus() > 0;
	return initialised ? OK : NO_DEVICE;
}

int cuDriverGetVersion(int *version)
{
	*version = setting("STANDIN_CUDA_VERSION", 12040);
	return OK;
}

int cuDeviceGetCount(int *count)
{
	*count = gpus();
	return initialised ? OK : NOT_INITIALIZED;
}

int cuDeviceGet(int *device, int number)
{
	if (!initialised || number < 0 || number >= gpus())
		return initialised ? INVALID_DEVICE : NOT_INITIALIZED;
	*device = number + 40; /* not the number, as nobody promises that */
	return OK;
}

int cuDeviceGetPCIBusId(char *text, int bytes, int device)
{
	snprintf(text, bytes, "0000:%02X:00.0", 0x1b + device - 40);
	return OK;
}

int cuDeviceGetName(char *text, int bytes, int device)
{
	(void)device;
	snprintf(text, bytes, "Stand-in H100");
	return OK;
}

int cuDeviceGetAttribute(int *value, int which, int device)
{
	(void)device;
	if (which == 116)
		*value = !getenv("STANDIN_CUDA_NO_GPUDIRECT");
	else if (which == 124 && setting("STANDIN_CUDA_VERSION", 12040) >= 11070)
		*value = !getenv("STANDIN_CUDA_NO_DMABUF");
	else
		return INVALID_VALUE;
	return OK;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	(void)device;
	*bytes = setting("STANDIN_CUDA_MEMORY", 1 << 30);
	return OK;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
	pthread_mutex_lock(&big);
	contexts[device - 40]++;
	pthread_mutex_unlock(&big);
	*context = &contexts[device - 40];
	return OK;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
	pthread_mutex_lock(&big);
	if (--contexts[device - 40] == 0)
		for (int k = 0; k < MOST; k++)
			if (allocations[k].storage && allocations[k].gpu == device - 40) {
				fprintf(stderr, "stand-in: context released before its memory\n");
				abort();
			}
	pthread_mutex_unlock(&big);
	return OK;
}

int cuCtxSetCurrent(void *context)
{
	current = context ? (int *)context - contexts + 1 : 0;
	return OK;
}

static int is_current(int gpu) { return current == gpu + 1 && contexts[gpu] > 0; }

/* The allocation that a whole range lies in. */
static struct allocation *holding(uint64_t address, size_t bytes)
{
	for (int k = 0; k < MOST; k++) {
		struct allocation *a = &allocations[k];
		if (a->storage && address >= a->address && address - a->address <= a->bytes &&
		    bytes <= a->bytes - (address - a->address))
			return a;
	}
	return NULL;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
	struct allocation *a = NULL;
	size_t skew = 512, all = (bytes + skew + PAGE - 1) / PAGE * PAGE;
	int gpu = current - 1, answer = OK;

	if (!current || !is_current(gpu))
		return INVALID_CONTEXT;
	pthread_mutex_lock(&big);
	for (int k = 0; k < MOST && !a; k++)
		a = allocations[k].storage ? NULL : &allocations[k];
	if (!a || bytes > setting("STANDIN_CUDA_MEMORY", 1 << 30) - taken[gpu]) {
		answer = OUT_OF_MEMORY;
	} else {
		a->fd = memfd_create("stand-in gpu", MFD_CLOEXEC);
		if (a->fd < 0 || ftruncate(a->fd, all))
			abort();
		a->storage = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED, a->fd, 0);
		a->reserved = (uintptr_t)mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		a->bytes = bytes;
		a->address = a->reserved + skew;
		a->gpu = gpu;
		a->synchronous = 0;
		taken[gpu] += bytes;
		*address = a->address;
	}
	pthread_mutex_unlock(&big);
	return answer;
}

int cuMemFree_v2(uint64_t address)
{
	struct allocation *a;
	int answer = INVALID_VALUE;

	pthread_mutex_lock(&big);
	a = holding(address, 1);
	if (a && a->address == address)
		answer = is_current(a->gpu) ? OK : INVALID_CONTEXT;
	if (answer == OK) {
		size_t all = (a->bytes + 512 + PAGE - 1) / PAGE * PAGE;
		munmap(a->storage, all);
		munmap((void *)(uintptr_t)a->reserved, all);
		close(a->fd);
		a->storage = NULL;
		taken[a->gpu] -= a->bytes;
	}
	pthread_mutex_unlock(&big);
	return answer;
}

static int copy(uint64_t device, void *host, size_t bytes, int out)
{
	struct allocation *a;
	int answer;

	pthread_mutex_lock(&big);
	a = holding(device, bytes);
	answer = !a ? INVALID_VALUE : !is_current(a->gpu) ? INVALID_CONTEXT : OK;
	if (answer == OK && !a->synchronous) {
		fprintf(stderr, "stand-in: a copy that may be seen too late\n");
		abort();
	}
	if (answer == OK && out)
		memcpy(host, a->storage + (device - a->reserved), bytes);
	else if (answer == OK)
		memcpy(a->storage + (device - a->reserved), host, bytes);
	pthread_mutex_unlock(&big);
	return answer;
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) { return copy(to, (void *)from, bytes, 0); }

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
	int code = setting("STANDIN_CUDA_COPY", OK);

	return code ? code : copy(from, to, bytes, 1);
}

int cuPointerSetAttribute(const void *value, int which, uint64_t address)
{
	struct allocation *a = holding(address, 1);

	if (!a || which != 6)
		return INVALID_VALUE;
	a->synchronous = *(const unsigned *)value;
	return OK;
}

int cuMemGetHandleForAddressRange(void *handle, uint64_t address, size_t bytes, int type, unsigned long long flags)
{
	struct allocation *a;
	char name[64];
	int fd, code = setting("STANDIN_CUDA_EXPORT", OK);

	if (code)
		return code;
	pthread_mutex_lock(&big);
	a = holding(address, bytes);
	pthread_mutex_unlock(&big);
	if (!a || type != 1 || flags || address % PAGE || bytes % PAGE)
		return INVALID_VALUE;
	if (!is_current(a->gpu))
		return INVALID_CONTEXT;
	/* opened anew, so that its position is its own */
	snprintf(name, sizeof name, "/proc/self/fd/%d", a->fd);
	fd = open(name, O_RDWR | O_CLOEXEC);
	if (fd < 0 || lseek(fd, address - a->reserved, SEEK_SET) < 0)
		abort();
	*(int *)handle = fd;
	return OK;
}

int cuGetErrorName(int code, const char **text)
{
	*text = code == OUT_OF_MEMORY	  ? "CUDA_ERROR_OUT_OF_MEMORY"
		: code == NO_DEVICE	  ? "CUDA_ERROR_NO_DEVICE"
		: code == INVALID_CONTEXT ? "CUDA_ERROR_INVALID_CONTEXT"
		: code == NOT_SUPPORTED	  ? "CUDA_ERROR_NOT_SUPPORTED"
					  : NULL;
	return *text ? OK : INVALID_VALUE;
}

int cuGetErrorString(int code, const char **text)
{
	*text = code == OUT_OF_MEMORY	  ? "out of memory"
		: code == NO_DEVICE	  ? "no CUDA-capable device is detected"
		: code == INVALID_CONTEXT ? "invalid device context"
		: code == NOT_SUPPORTED	  ? "operation not supported"
					  : NULL;
	return *text ? OK : INVALID_VALUE;
}

/* For the stand-in of libibverbs: a descriptor of the range as a dmabuf is one, -1 for memory of nobody here. */
int standin_cuda_range(uint64_t address, size_t bytes)
{
	struct allocation *a;
	int fd = -1;
	char name[64];

	pthread_mutex_lock(&big);
	a = holding(address, bytes);
	if (a) {
		snprintf(name, sizeof name, "/proc/self/fd/%d", a->fd);
		fd = open(name, O_RDWR | O_CLOEXEC);
		if (fd >= 0)
			lseek(fd, address - a->reserved, SEEK_SET);
	}
	pthread_mutex_unlock(&big);
	return fd;
}
