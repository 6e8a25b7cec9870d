import { describe, expect, it, test } from "vitest";
import { ApiError } from "../src/api/client";
import { attach } from "../src/composer/images";
import { aboutFile, whyNotShown } from "../src/documents/sentences";

const told = (code: "not_found" | "bad_request", message: string, fix = "") => new ApiError(400, { code, message, fix });

describe("files that are refused", () => {
  it("are named once", () => {
    expect(aboutFile("x.zip", told("bad_request", "x.zip is an archive."))).toBe("x.zip is an archive.");
    expect(aboutFile("x.zip", told("bad_request", "The server is busy."))).toBe("x.zip: The server is busy.");
  });

  it("have a line each", async () => {
    const files = ["a.png", "b.png"].map((name) => new File(["no image"], name, { type: "image/png" }));
    const { problem } = await attach([], files);
    expect(problem.split("\n")).toEqual(["a", "b"].map((name) => `${name}.png is not a PNG, JPEG, GIF or WebP image that can be shown.`));
  });
});

test("what is attached is read in memory", { tags: ["PLT-04"] }, async () => {
  const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const file = new File([Uint8Array.from(atob(pixel), (char) => char.charCodeAt(0))], "dot.png", { type: "image/png" });
  expect(await attach([], [file])).toEqual({ images: [{ name: "dot.png", mediaType: "image/png", data: pixel }], problem: "" });
});

describe("a citation of a document that is gone", () => {
  it("is said in words for who reads an answer", () => {
    const gone = told("not_found", "There is no such document.", "List the documents to see their ids.");
    expect(whyNotShown(gone)).toBe("This document is not there any more.");
    expect(whyNotShown(told("bad_request", "No."))).toBe("No.");
  });
});
