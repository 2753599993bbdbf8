/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <grpc/status.h>

#include "grpc/reflection/v1/reflection.pb-c.h"

#include "base/check.h"
#include "worker/allocator.h"
#include "worker/descriptors.h"
#include "worker/reflection.h"
#include "worker/symbol.h"

typedef Grpc__Reflection__V1__ServerReflectionResponse response_t;

enum { FILES_MAX = 32 };

struct file {
	const Google__Protobuf__FileDescriptorProto *descriptor;
	ProtobufCBinaryData packed;
};

static struct file files[FILES_MAX];
static size_t file_count;

static void add_file(const Google__Protobuf__FileDescriptorProto *descriptor)
{
	struct file *file = &files[file_count++];

	CHECK(file_count <= FILES_MAX);
	file->descriptor = descriptor;
	file->packed.len = google__protobuf__file_descriptor_proto__get_packed_size(descriptor);
	file->packed.data = malloc(file->packed.len);
	CHECK(file->packed.data);
	google__protobuf__file_descriptor_proto__pack(descriptor, file->packed.data);
}

void reflection_init(void)
{
	Google__Protobuf__FileDescriptorSet *set =
	    google__protobuf__file_descriptor_set__unpack(NULL, descriptors_size, descriptors_data);

	CHECK(set);
	for (size_t i = 0; i < set->n_file; i++)
		add_file(set->file[i]);
}

static struct file *by_name(const char *name)
{
	for (size_t i = 0; i < file_count; i++)
		if (strcmp(files[i].descriptor->name, name) == 0)
			return &files[i];
	return NULL;
}

static struct file *by_symbol(const char *name)
{
	for (size_t i = 0; i < file_count; i++)
		if (symbol_declared(files[i].descriptor, name))
			return &files[i];
	return NULL;
}

static struct file *by_message(const char *name)
{
	for (size_t i = 0; i < file_count; i++)
		if (symbol_is_message(files[i].descriptor, name))
			return &files[i];
	return NULL;
}

static void answer_error(response_t *response, Grpc__Reflection__V1__ErrorResponse *error,
			 const char *text)
{
	grpc__reflection__v1__error_response__init(error);
	error->error_code = GRPC_STATUS_NOT_FOUND;
	error->error_message = (char *)(uintptr_t)text;
	response->message_response_case =
	    GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ERROR_RESPONSE;
	response->error_response = error;
}

/* A file and, behind it, all that it imports, each once. */
static void collect(struct file *file, bool *seen,
		    Grpc__Reflection__V1__FileDescriptorResponse *out)
{
	if (!file || seen[file - files])
		return;
	seen[file - files] = true;
	out->file_descriptor_proto[out->n_file_descriptor_proto++] = file->packed;
	for (size_t i = 0; i < file->descriptor->n_dependency; i++)
		collect(by_name(file->descriptor->dependency[i]), seen, out);
}

static void answer_file(response_t *response, struct file *file,
			Grpc__Reflection__V1__FileDescriptorResponse *out,
			ProtobufCBinaryData *room)
{
	bool seen[FILES_MAX] = {false};

	grpc__reflection__v1__file_descriptor_response__init(out);
	out->file_descriptor_proto = room;
	collect(file, seen, out);
	response->message_response_case =
	    GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_FILE_DESCRIPTOR_RESPONSE;
	response->file_descriptor_response = out;
}

struct services {
	Grpc__Reflection__V1__ListServiceResponse list;
	Grpc__Reflection__V1__ServiceResponse service[FILES_MAX];
	Grpc__Reflection__V1__ServiceResponse *pointer[FILES_MAX];
	char name[FILES_MAX][128];
};

static void answer_services(response_t *response, struct services *out)
{
	Grpc__Reflection__V1__ListServiceResponse *list = &out->list;

	grpc__reflection__v1__list_service_response__init(list);
	list->service = out->pointer;
	for (size_t i = 0; i < file_count; i++) {
		const Google__Protobuf__FileDescriptorProto *file = files[i].descriptor;

		for (size_t j = 0; j < file->n_service && list->n_service < FILES_MAX; j++) {
			size_t at = list->n_service++;

			grpc__reflection__v1__service_response__init(&out->service[at]);
			snprintf(out->name[at], sizeof out->name[at], "%s.%s", file->package,
				 file->service[j]->name);
			out->service[at].name = out->name[at];
			out->pointer[at] = &out->service[at];
		}
	}
	response->message_response_case =
	    GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_LIST_SERVICES_RESPONSE;
	response->list_services_response = list;
}

static grpc_slice pack(const response_t *response)
{
	grpc_slice slice = grpc_slice_malloc(
	    grpc__reflection__v1__server_reflection_response__get_packed_size(response));

	grpc__reflection__v1__server_reflection_response__pack(response,
							       GRPC_SLICE_START_PTR(slice));
	return slice;
}

/* Everything an answer may point to, so that it lives until it is packed. */
struct parts {
	Grpc__Reflection__V1__ErrorResponse error;
	Grpc__Reflection__V1__FileDescriptorResponse file;
	Grpc__Reflection__V1__ExtensionNumberResponse extensions;
	ProtobufCBinaryData room[FILES_MAX];
	struct services services;
};

static void answer_found(response_t *response, struct file *file, const char *text,
			 struct parts *parts)
{
	if (file)
		answer_file(response, file, &parts->file, parts->room);
	else
		answer_error(response, &parts->error, text);
}

/* No file here has extensions: a known type has an empty list. */
static void answer_extensions(response_t *response, char *type, struct parts *parts)
{
	if (!by_message(type)) {
		answer_error(response, &parts->error, "type not found");
		return;
	}
	grpc__reflection__v1__extension_number_response__init(&parts->extensions);
	parts->extensions.base_type_name = type;
	response->message_response_case =
	    GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ALL_EXTENSION_NUMBERS_RESPONSE;
	response->all_extension_numbers_response = &parts->extensions;
}

static void dispatch(Grpc__Reflection__V1__ServerReflectionRequest *request, response_t *response,
		     struct parts *parts)
{
	switch ((int)request->message_request_case) {
	case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_BY_FILENAME:
		answer_found(response, by_name(request->file_by_filename), "file not found", parts);
		return;
	case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_SYMBOL:
		answer_found(response, by_symbol(request->file_containing_symbol),
			     "symbol not found", parts);
		return;
	case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_ALL_EXTENSION_NUMBERS_OF_TYPE:
		answer_extensions(response, request->all_extension_numbers_of_type, parts);
		return;
	case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_LIST_SERVICES:
		answer_services(response, &parts->services);
		return;
	case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_EXTENSION:
	case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST__NOT_SET:
	default:
		answer_error(response, &parts->error, "not found");
		return;
	}
}

bool reflection_answer(struct arena *arena, struct bytes message, grpc_slice *out)
{
	ProtobufCAllocator allocator = allocator_of(arena);
	response_t response = GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__INIT;
	Grpc__Reflection__V1__ServerReflectionRequest *request =
	    grpc__reflection__v1__server_reflection_request__unpack(&allocator, message.len,
								    message.data);
	struct parts *parts = arena_alloc(arena, sizeof *parts);

	if (!request || !parts)
		return false;
	response.valid_host = request->host;
	response.original_request = request;
	dispatch(request, &response, parts);
	*out = pack(&response);
	return true;
}
