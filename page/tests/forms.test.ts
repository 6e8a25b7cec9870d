import { describe, expect, it } from "vitest";
import { answerOf, draftOf, type Draft } from "../src/forms/answers";
import { fieldOf, hasFreeText, type Field, type Schema } from "../src/forms/fields";

const object = (properties: Schema, required: string[] = []): Schema => ({ type: "object", properties, required });
const kinds = (field: Field) => (field.kind === "object" ? field.fields.map(({ name, kind }) => `${name}:${kind}`) : []);
const answer = (schema: Schema, draft: Draft) => answerOf(fieldOf(schema), draft);

describe("a form from a schema", () => {
  it("has a field for each kind, what is required first", () => {
    const schema = object(
      {
        text: { type: "string" },
        count: { type: "integer" },
        on: { type: "boolean" },
        color: { enum: ["red", "green"] },
        titled: { oneOf: [{ const: "a", title: "First" }, { const: "b" }] },
        many: { type: "array", items: { type: "string", enum: ["x", "y"] } },
        rows: { type: "array", items: { type: "string" } },
        nested: object({ inner: { type: "number" } }),
        anything: {},
        either: { anyOf: [{ type: "string" }, { type: "number" }] },
        map: { type: "object", additionalProperties: { type: "string" } },
      },
      ["on"],
    );
    expect(kinds(fieldOf(schema))).toEqual([
      "on:boolean",
      "text:text",
      "count:number",
      "color:choice",
      "titled:choice",
      "many:several",
      "rows:list",
      "nested:object",
      "anything:json",
      "either:json",
      "map:json",
    ]);
  });

  it("follows references inside the document and no others, and leaves out null", () => {
    const schema = {
      ...object({
        who: { $ref: "#/$defs/person" },
        maybe: { type: ["string", "null"] },
        optional: { anyOf: [{ type: "integer" }, { type: "null" }], title: "How many" },
        far: { $ref: "https://elsewhere.example/schema" },
        proto: { $ref: "#/__proto__" },
      }),
      $defs: { person: object({ name: { type: "string" } }) },
    };
    expect(kinds(fieldOf(schema))).toEqual(["who:object", "maybe:text", "optional:number", "far:json", "proto:json"]);
  });

  it("ends where a schema refers to itself", () => {
    const schema = { $ref: "#/$defs/node", $defs: { node: object({ next: { $ref: "#/$defs/node" } }), loop: { $ref: "#/$defs/loop" } } };
    expect(fieldOf(schema).kind).toBe("object");
    expect(fieldOf({ ...schema, $ref: "#/$defs/loop" }).kind).toBe("object");
  });

  it("is no more than an empty form for what is no schema", () => {
    expect(fieldOf({ properties: 3, required: "x" } as Schema)).toMatchObject({ kind: "object", fields: [] });
    expect(answer({}, draftOf(fieldOf({}))).value).toEqual({});
  });
});

describe("the answers of a form", () => {
  const schema = object(
    {
      name: { type: "string", minLength: 2 },
      age: { type: "integer", minimum: 0, default: 7 },
      mail: { type: "string", format: "email" },
      tags: { type: "array", items: { type: "string" } },
      color: { enum: ["red", 3] },
      more: object({ deep: { type: "number" } }, ["deep"]),
    },
    ["name", "color"],
  );

  it("begin with the defaults and leave out what was not said", () => {
    const draft = draftOf(fieldOf(schema)) as Record<string, Draft>;
    expect(answer(schema, { ...draft, name: "Ada", color: "1" })).toEqual({ value: { name: "Ada", age: 7, color: 3 }, errors: null });
  });

  it("take values to edit", () => {
    const value = { name: "Ada", age: 2, tags: ["a", "b"], color: "red", more: { deep: 1.5 } };
    expect(answer(schema, draftOf(fieldOf(schema), value)).value).toEqual(value);
  });

  it("say one sentence for each field that cannot stay", () => {
    const draft = { name: "A", age: "1.5", mail: "x", tags: ["", "b"], more: { deep: "much" } };
    expect(answer(schema, draft).errors).toEqual({
      name: "At least 2 characters.",
      age: "Write a whole number.",
      mail: "Write an email address.",
      "tags/0": "This is needed.",
      color: "This is needed.",
      "more/deep": "Write a number.",
    });
  });

  it("take JSON where there is no field, and say when it is none", () => {
    const open = object({ filter: {} }, ["filter"]);
    expect(answer(open, { filter: '{"a": [1]}' }).value).toEqual({ filter: { a: [1] } });
    expect(answer(open, { filter: "{a: 1}" }).errors).toEqual({ filter: "This is not JSON. Texts stand in double quotes." });
  });

  it("count what was chosen", () => {
    const several = object({ days: { type: "array", minItems: 1, maxItems: 2, items: { enum: ["mo", "tu", "we"] } } }, ["days"]);
    expect(answer(several, { days: [] }).errors).toEqual({ days: "At least 1." });
    expect(answer(several, { days: ["0", "2"] }).value).toEqual({ days: ["mo", "we"] });
    expect(answer(several, { days: ["0", "1", "2"] }).errors).toEqual({ days: "At most 2." });
  });

  it("answer a required yes or no that nobody touched with no", () => {
    const schema = object({ sure: { type: "boolean" }, maybe: { type: "boolean" } }, ["sure"]);
    expect(answer(schema, draftOf(fieldOf(schema))).value).toEqual({ sure: false });
  });
});

describe("a form that anything can be typed into", () => {
  const words = { type: "string" };

  it.each<Schema>([
    words,
    { type: ["string", "null"] },
    { anyOf: [words, { type: "null" }] },
    { anyOf: [words, { type: "number" }] },
    { allOf: [words] },
    { $ref: "#/$defs/word" },
    { type: "array", items: words },
    object({ inner: words }),
    {},
  ])("is told from its fields, however they are written: %j", (field) => {
    expect(hasFreeText(fieldOf({ ...object({ field }), $defs: { word: words } }))).toBe(true);
  });

  it.each<Schema>([
    { type: "boolean" },
    { type: "integer" },
    { enum: ["a", "b"] },
    { oneOf: [{ const: "a" }, { const: "b" }] },
    { type: "array", items: { enum: ["a"] } },
  ])("is none when all is chosen: %j", (field) => {
    expect(hasFreeText(fieldOf(object({ field })))).toBe(false);
  });
});
