/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "worker/symbol.h"

/* Takes `part` and the dot behind it off `name`; NULL when it does not begin so. The rest is ""
 * when nothing is left. */
static const char *after(const char *name, const char *part)
{
	size_t len = strlen(part);

	if (strncmp(name, part, len) != 0)
		return NULL;
	if (name[len] == '.')
		return name + len + 1;
	return name[len] == 0 ? name + len : NULL;
}

static bool in_enum(const Google__Protobuf__EnumDescriptorProto *type, const char *name)
{
	const char *rest = after(name, type->name);

	if (!rest || !*rest)
		return rest != NULL;
	for (size_t i = 0; i < type->n_value; i++)
		if (strcmp(type->value[i]->name, rest) == 0)
			return true;
	return false;
}

/* Recursion is as deep as the built-in files nest their messages. */
static bool in_message(const Google__Protobuf__DescriptorProto *type, const char *name,
		       bool types_only)
{
	const char *rest = after(name, type->name);

	if (!rest || !*rest)
		return rest != NULL;
	for (size_t i = 0; i < type->n_nested_type; i++)
		if (in_message(type->nested_type[i], rest, types_only))
			return true;
	if (types_only)
		return false;
	for (size_t i = 0; i < type->n_enum_type; i++)
		if (in_enum(type->enum_type[i], rest))
			return true;
	for (size_t i = 0; i < type->n_field; i++)
		if (strcmp(type->field[i]->name, rest) == 0)
			return true;
	for (size_t i = 0; i < type->n_oneof_decl; i++)
		if (strcmp(type->oneof_decl[i]->name, rest) == 0)
			return true;
	return false;
}

static bool in_service(const Google__Protobuf__ServiceDescriptorProto *service, const char *name)
{
	const char *rest = after(name, service->name);

	if (!rest || !*rest)
		return rest != NULL;
	for (size_t i = 0; i < service->n_method; i++)
		if (strcmp(service->method[i]->name, rest) == 0)
			return true;
	return false;
}

static const char *inside(const Google__Protobuf__FileDescriptorProto *file, const char *name)
{
	const char *rest;

	if (*name == '.')
		name++;
	if (!file->package || !*file->package)
		return name;
	rest = after(name, file->package);
	return rest && *rest ? rest : NULL;
}

bool symbol_is_message(const Google__Protobuf__FileDescriptorProto *file, const char *name)
{
	const char *rest = inside(file, name);

	for (size_t i = 0; rest && i < file->n_message_type; i++)
		if (in_message(file->message_type[i], rest, true))
			return true;
	return false;
}

bool symbol_declared(const Google__Protobuf__FileDescriptorProto *file, const char *name)
{
	const char *rest = inside(file, name);

	if (!rest)
		return false;
	for (size_t i = 0; i < file->n_message_type; i++)
		if (in_message(file->message_type[i], rest, false))
			return true;
	for (size_t i = 0; i < file->n_enum_type; i++)
		if (in_enum(file->enum_type[i], rest))
			return true;
	for (size_t i = 0; i < file->n_service; i++)
		if (in_service(file->service[i], rest))
			return true;
	return false;
}
