import type { Field } from "./fields";
import { isRecord } from "./fields";

/** What stands in a form: texts for text, numbers and JSON, the choices' places, rows, and fields by name. */
export type Draft = string | boolean | undefined | Draft[] | { [name: string]: Draft };

/** Sentences by the path of their field: "", "address", "address/street", "tags/0". */
export type Errors = Record<string, string>;

export type Answer = { value: unknown; errors: null } | { value: null; errors: Errors };

/** An empty text of this kind is left out of the answer. */
const NOTHING = Symbol("nothing");

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** Return the place of a value among the choices, as a form keeps it. */
function placeOf(field: Field, value: unknown): string | undefined {
  if (field.kind !== "choice" && field.kind !== "several") return undefined;
  const at = field.options.findIndex((option) => JSON.stringify(option.value) === JSON.stringify(value));
  return at < 0 ? undefined : String(at);
}

/** Return a form's beginning: defaults of the schema, or a value to edit. */
export function draftOf(field: Field, given: unknown = field.initial): Draft {
  switch (field.kind) {
    case "text":
      return typeof given === "string" ? given : "";
    case "number":
      return typeof given === "number" ? String(given) : "";
    case "boolean":
      return typeof given === "boolean" ? given : undefined;
    case "choice":
      return placeOf(field, given);
    case "several":
      return list(given).flatMap((value) => placeOf(field, value) ?? []);
    case "list":
      return rows(field, list(given));
    case "object": {
      const values = isRecord(given) ? given : {};
      const value = (one: Field) => (Object.hasOwn(values, one.name) ? values[one.name] : one.initial);
      return Object.fromEntries(field.fields.map((one) => [one.name, draftOf(one, value(one))]));
    }
    case "json":
      return given === undefined ? "" : JSON.stringify(given, null, 2);
  }
}

function rows(field: Extract<Field, { kind: "list" }>, values: unknown[]): Draft[] {
  const missing = field.required ? Math.max(0, (field.min ?? 0) - values.length) : 0;
  const blank = Array.from({ length: missing }, () => draftOf(field.item));
  return [...values.map((value) => draftOf(field.item, value)), ...blank];
}

/** Gathers values, and sentences where there can be none. */
class Reader {
  readonly errors: Errors = {};

  read(field: Field, draft: Draft, path: string): unknown {
    switch (field.kind) {
      case "text":
        return this.text(field, String(draft ?? ""), path);
      case "number":
        return this.number(field, String(draft ?? "").trim(), path);
      case "boolean":
        return draft ?? (field.required ? false : NOTHING);
      case "choice":
        return this.choice(field, draft, path);
      case "several":
        return this.several(field, list(draft), path);
      case "list":
        return this.list(field, list(draft) as Draft[], path);
      case "object":
        return this.object(field, draft, path);
      case "json":
        return this.json(field, String(draft ?? "").trim(), path);
    }
  }

  private fail(path: string, sentence: string): typeof NOTHING {
    this.errors[path] = sentence;
    return NOTHING;
  }

  private missing(field: Field, path: string): typeof NOTHING {
    return field.required ? this.fail(path, "This is needed.") : NOTHING;
  }

  private text(field: Extract<Field, { kind: "text" }>, value: string, path: string): unknown {
    if (!value) return this.missing(field, path);
    const length = [...value].length;
    if (field.min !== null && length < field.min) return this.fail(path, `At least ${field.min} characters.`);
    if (field.max !== null && length > field.max) return this.fail(path, `At most ${field.max} characters.`);
    if (field.format === "email" && !/^[^\s@]+@[^\s@]+$/.test(value)) return this.fail(path, "Write an email address.");
    if (field.format === "uri" && !URL.canParse(value)) return this.fail(path, "Write a whole address, with https:// or the like.");
    if (field.format === "date" && Number.isNaN(Date.parse(value))) return this.fail(path, "Write a date: 2026-12-31.");
    if (field.format === "date-time" && Number.isNaN(Date.parse(value))) {
      return this.fail(path, "Write a date with a time: 2026-12-31T18:00:00Z.");
    }
    return value;
  }

  private number(field: Extract<Field, { kind: "number" }>, text: string, path: string): unknown {
    if (!text) return this.missing(field, path);
    const value = Number(text);
    if (!Number.isFinite(value)) return this.fail(path, "Write a number.");
    if (field.whole && !Number.isInteger(value)) return this.fail(path, "Write a whole number.");
    if (field.min !== null && value < field.min) return this.fail(path, `${field.min} or more.`);
    if (field.max !== null && value > field.max) return this.fail(path, `${field.max} or less.`);
    return value;
  }

  private choice(field: Extract<Field, { kind: "choice" }>, draft: Draft, path: string): unknown {
    const option = typeof draft === "string" ? field.options[Number(draft)] : undefined;
    return option ? option.value : this.missing(field, path);
  }

  private several(field: Extract<Field, { kind: "several" }>, chosen: unknown[], path: string): unknown {
    if (chosen.length === 0 && !field.required) return NOTHING;
    return this.counted(field, chosen.map((place) => field.options[Number(place)]?.value), path);
  }

  private list(field: Extract<Field, { kind: "list" }>, drafts: Draft[], path: string): unknown {
    if (drafts.length === 0 && !field.required) return NOTHING;
    const values = drafts.map((draft, at) => this.read(field.item, draft, `${path}/${at}`));
    return this.counted(field, values.filter((value) => value !== NOTHING), path);
  }

  private counted(field: { min: number | null; max: number | null }, values: unknown[], path: string): unknown {
    if (field.min !== null && values.length < field.min) return this.fail(path, `At least ${field.min}.`);
    if (field.max !== null && values.length > field.max) return this.fail(path, `At most ${field.max}.`);
    return values;
  }

  private object(field: Extract<Field, { kind: "object" }>, draft: Draft, path: string): unknown {
    const drafts = isRecord(draft) ? (draft as Record<string, Draft>) : {};
    // An optional object that nobody touched is left out, with what it would need.
    if (!field.required && isUntouched(drafts)) return NOTHING;
    const parts = field.fields.map((one) => [one.name, this.read(one, drafts[one.name], path ? `${path}/${one.name}` : one.name)]);
    return Object.fromEntries(parts.filter(([, value]) => value !== NOTHING));
  }

  private json(field: Field, text: string, path: string): unknown {
    if (!text) return this.missing(field, path);
    try {
      return JSON.parse(text);
    } catch {
      return this.fail(path, "This is not JSON. Texts stand in double quotes.");
    }
  }
}

function isUntouched(draft: Draft): boolean {
  if (Array.isArray(draft)) return draft.length === 0;
  if (isRecord(draft)) return Object.values(draft as Record<string, Draft>).every(isUntouched);
  return draft === undefined || draft === "";
}

/** Return what a form says, or one sentence for each field that cannot stay as it is. */
export function answerOf(field: Field, draft: Draft): Answer {
  const reader = new Reader();
  const value = reader.read(field, draft, "");
  if (Object.keys(reader.errors).length) return { value: null, errors: reader.errors };
  return { value: value === NOTHING ? {} : value, errors: null };
}
