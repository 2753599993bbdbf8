/* SPDX-License-Identifier: Apache-2.0 */
#include "shm/answer.h"
#include "shm/payload.h"

void shm_answer_times(const struct shm_map *map, const struct shm_grant *grant, int64_t now,
		      uint32_t waiters, struct lease *lease)
{
	lease->holder = grant->holder;
	lease->fencing_token = grant->token;
	lease->acquired_wall_us = grant->acquired_wall;
	lease->expires_wall_us = grant->deadline + shm_load(&map->header->wall_offset);
	lease->remaining_us = grant->deadline - now;
	lease->waiters = waiters;
}

static enum err finish(struct op *op, enum err err)
{
	op->answer.result = err;
	return err;
}

static void from_request(struct op *op)
{
	struct lease *lease = &op->answer.lease;

	lease->owner = op->request.owner;
	lease->request_id = op->request.request_id;
	lease->metadata = op->request.metadata;
}

/* Of the lease that is in the way only the owner is told. */
static enum err from_identity(struct op *op, const struct shm_result *from, const uint64_t *scratch)
{
	struct bytes owner, request_id;

	shm_payload_identity(scratch, from->payload_size, &owner, &request_id);
	op->answer.lease.owner = owner.len ? arena_copy(op->arena, owner) : owner;
	return owner.len && !op->answer.lease.owner.data ? ERR_BACKEND_DOWN : ERR_OK;
}

enum err shm_answer(const struct shm_map *map, struct op *op, enum err result,
		    const struct shm_result *from, const uint64_t *scratch)
{
	struct op_answer *answer = &op->answer;
	enum err err = ERR_OK;

	answer->existed = from->existed;
	answer->waiters = from->waiters;
	if (op->kind == OP_RELEASE || !from->known || (result != ERR_OK && result != ERR_HELD))
		return finish(op, result);
	answer->held = true;
	answer->repeated = op->kind == OP_ACQUIRE && result == ERR_OK && !from->fresh;
	answer->lease.name_space = op->request.name_space;
	answer->lease.key = op->request.key;
	shm_answer_times(map, &from->grant, from->now, from->waiters, &answer->lease);
	if (from->fresh)
		from_request(op);
	else if (result == ERR_HELD)
		err = from_identity(op, from, scratch);
	else
		err = shm_payload_decode(scratch, from->payload_size, op->arena, &answer->lease);
	return finish(op, err == ERR_OK ? result : ERR_BACKEND_DOWN);
}

enum err shm_answer_inspect(const struct shm_map *map, struct op *op, const struct shm_name *name,
			    uint64_t *scratch)
{
	struct op_answer *answer = &op->answer;
	struct shm_snapshot snapshot;
	enum err err;
	int64_t now;

	if (!shm_probe_name(map, name, &snapshot, scratch))
		return finish(op, ERR_OK);
	now = map->clock();
	answer->waiters = snapshot.waiters;
	if (snapshot.grant.deadline <= now)
		return finish(op, ERR_OK);
	answer->held = true;
	answer->lease.name_space = op->request.name_space;
	answer->lease.key = op->request.key;
	shm_answer_times(map, &snapshot.grant, now, snapshot.waiters, &answer->lease);
	err = shm_payload_decode(scratch, snapshot.grant.chain_size, op->arena, &answer->lease);
	return finish(op, err == ERR_OK ? ERR_OK : ERR_BACKEND_DOWN);
}
