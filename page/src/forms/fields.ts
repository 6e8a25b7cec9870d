/** A JSON Schema, or something that was sent as one. */
export type Schema = Record<string, unknown>;

export interface Option {
  value: unknown;
  label: string;
}

interface Common {
  /** The property's own name; "" for a row of a list. */
  name: string;
  label: string;
  help: string;
  required: boolean;
  initial: unknown;
}

/** What a form shows for a schema; "json" stands for all that has no field of its own. */
export type Field = Common &
  (
    | { kind: "text"; format: string; min: number | null; max: number | null; isLong: boolean }
    | { kind: "number"; whole: boolean; min: number | null; max: number | null }
    | { kind: "boolean" }
    | { kind: "choice"; options: readonly Option[] }
    | { kind: "several"; options: readonly Option[]; min: number | null; max: number | null }
    | { kind: "list"; item: Field; min: number | null; max: number | null }
    | { kind: "object"; fields: readonly Field[] }
    | { kind: "json" }
  );

/** Deeper than this a form is no help; JSON is. */
const DEPTH = 5;

export const isRecord = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const text = (value: unknown) => (typeof value === "string" ? value : "");
const number = (value: unknown) => (typeof value === "number" && Number.isFinite(value) ? value : null);
const records = (value: unknown) => (Array.isArray(value) ? value.filter(isRecord) : []);

/** Follow a reference inside the document; one that leads nowhere or in a circle is an empty schema. */
function resolved(schema: Schema, root: Schema, left = 10): Schema {
  const { $ref: ref, ...own } = schema;
  if (typeof ref !== "string") return schema;
  if (!ref.startsWith("#") || left === 0) return own;
  let found: unknown = root;
  for (const part of ref.slice(1).split("/").filter(Boolean)) {
    const name = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    found = isRecord(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  }
  return isRecord(found) ? { ...resolved(found, root, left - 1), ...own } : own;
}

const isNull = (schema: Schema) => schema.type === "null" || schema.const === null;

/** Leave out "or null": an empty field says it as well. Of one alternative that is left, take that. */
function plain(schema: Schema, root: Schema): Schema {
  const { type } = schema;
  if (Array.isArray(type)) {
    const kinds = type.filter((kind) => kind !== "null");
    return kinds.length === 1 ? { ...schema, type: kinds[0] } : schema;
  }
  for (const word of ["anyOf", "oneOf", "allOf"] as const) {
    const rest = records(schema[word]).filter((one) => !isNull(one));
    if (rest[0] && rest.length === 1) {
      const { [word]: _, ...own } = schema;
      return { ...plain(resolved(rest[0], root), root), ...own };
    }
  }
  return schema;
}

/** Return the choices of a schema that lists its values, or null. */
function optionsOf(schema: Schema): Option[] | null {
  if (Array.isArray(schema.enum)) {
    const names = Array.isArray(schema.enumNames) ? schema.enumNames : [];
    return schema.enum.map((value, at) => ({ value, label: text(names[at]) || shown(value) }));
  }
  const titled = records(schema.oneOf ?? schema.anyOf);
  if (titled.length === 0 || titled.some((one) => !("const" in one))) return null;
  return titled.map((one) => ({ value: one.const, label: text(one.title) || shown(one.const) }));
}

const shown = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

function listField(common: Common, schema: Schema, root: Schema, depth: number): Field {
  const items = isRecord(schema.items) ? plain(resolved(schema.items, root), root) : {};
  const bounds = { min: number(schema.minItems), max: number(schema.maxItems) };
  const options = optionsOf(items);
  if (options) return { ...common, kind: "several", options, ...bounds };
  return { ...common, kind: "list", item: fieldOf(items, root, { name: "", required: true }, depth + 1), ...bounds };
}

function objectField(common: Common, schema: Schema, root: Schema, depth: number): Field {
  const names = isRecord(schema.properties) ? Object.keys(schema.properties) : [];
  const isOpen = names.length === 0 && schema.additionalProperties !== false && depth > 0;
  if (depth >= DEPTH || isOpen) return { ...common, kind: "json" };
  const required = Array.isArray(schema.required) ? schema.required : [];
  const properties = schema.properties as Schema;
  const fields = names.map((name) => {
    const property = properties[name];
    return fieldOf(isRecord(property) ? property : {}, root, { name, required: required.includes(name) }, depth + 1);
  });
  // What must be filled in comes first; otherwise the order is the schema's.
  fields.sort((a, b) => Number(b.required) - Number(a.required));
  return { ...common, kind: "object", fields };
}

/** Return the field for a schema. */
export function fieldOf(
  given: Schema,
  root: Schema = given,
  place: { name: string; required: boolean } = { name: "", required: true },
  depth = 0,
): Field {
  const schema = plain(resolved(given, root), root);
  const common: Common = {
    ...place,
    label: text(schema.title) || place.name,
    help: text(schema.description),
    initial: schema.default,
  };
  const options = optionsOf(schema);
  if (options) return { ...common, kind: "choice", options };
  switch (schema.type ?? (isRecord(schema.properties) ? "object" : "")) {
    case "string": {
      const max = number(schema.maxLength);
      return { ...common, kind: "text", format: text(schema.format), min: number(schema.minLength), max, isLong: isLong(common, max) };
    }
    case "number":
    case "integer":
      return { ...common, kind: "number", whole: schema.type === "integer", min: number(schema.minimum), max: number(schema.maximum) };
    case "boolean":
      return { ...common, kind: "boolean" };
    case "array":
      return listField(common, schema, root, depth);
    case "object":
      return objectField(common, schema, root, depth);
    default:
      return depth === 0 ? objectField(common, schema, root, depth) : { ...common, kind: "json" };
  }
}

/** Whether anything can be typed into a field: in which language it asks for a password, nobody can tell. */
export function hasFreeText(field: Field): boolean {
  switch (field.kind) {
    case "text":
    case "json":
      return true;
    case "list":
      return hasFreeText(field.item);
    case "object":
      return field.fields.some(hasFreeText);
    default:
      return false;
  }
}

/** Names that usually hold more than a line. */
function isLong({ name, initial }: Common, max: number | null): boolean {
  if (max !== null && max < 200) return false;
  return /(content|body|text|code|prompt|message|markdown|html|thought|script)$/i.test(name) || text(initial).includes("\n");
}
