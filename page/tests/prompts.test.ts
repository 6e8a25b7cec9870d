import { describe, expect, it } from "vitest";
import type { PromptView, Topic } from "../src/api/types";
import { begunBy, promptsBegunBy } from "../src/composer/commands";
import { nameFor } from "../src/prompts/PromptEditor";
import { given, isFilled } from "../src/prompts/VariableFields";
import { deletingWords } from "../src/topics/actions";

const prompt = (name: string): PromptView => ({
  name,
  title: name.toUpperCase(),
  description: "",
  variables: [],
  builtIn: false,
  path: "",
  problem: "",
});

describe("prompts in the box", () => {
  const prompts = ["translator", "teacher", "Code-review"].map(prompt);

  it("are offered while their name is typed, whatever its case", () => {
    expect(promptsBegunBy("/t", prompts).map(({ name }) => name)).toEqual(["/translator", "/teacher"]);
    expect(promptsBegunBy("/code", prompts).map(({ name }) => name)).toEqual(["/Code-review"]);
    expect(promptsBegunBy("/etc/hosts", prompts)).toEqual([]);
    expect(promptsBegunBy("teach", prompts)).toEqual([]);
    expect(promptsBegunBy("/", Array.from({ length: 30 }, (_, at) => prompt(`p${at}`)))).toHaveLength(8);
    expect(begunBy("/t")).toEqual([]);
  });

  it("want a value for what has no default", () => {
    const variables = [
      { name: "a", default: null, builtIn: false },
      { name: "b", default: "x", builtIn: false },
    ];
    expect(isFilled(variables, { b: "y" })).toBe(false);
    expect(isFilled(variables, { a: " " })).toBe(false);
    expect(isFilled(variables, { a: "y" })).toBe(true);
    expect(given({ a: "y", b: " " })).toEqual({ a: "y" });
  });

  it("get the name of a file from their title", () => {
    expect(nameFor("  Crème brûlée, twice! ")).toBe("creme-brulee-twice");
    expect(nameFor("日本")).toBe("");
  });
});

describe("deleting a topic", () => {
  const topic: Topic = {
    id: "t_1",
    owner: "local",
    name: "Garden",
    description: "",
    createdAt: 0,
    updatedAt: 0,
    deletedAt: null,
    conversations: 2,
    memories: 1,
    documents: 0,
    todos: 3,
  };

  it("says what happens to what is in it", () => {
    expect(deletingWords(topic)).toBe(
      "Delete the topic “Garden”? Its 2 conversations stay and leave it. No conversation sees its 1 memory, 3 todos any more. You can bring it back for 30 days.",
    );
    expect(deletingWords({ ...topic, conversations: 0, memories: 0, todos: 0 })).toBe(
      "Delete the topic “Garden”? You can bring it back for 30 days.",
    );
  });
});
