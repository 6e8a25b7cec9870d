import { finding } from "../api/finding";
import type { Proposal, ServerInput } from "../api/types";
import { answerOf, draftOf, type Draft, type Errors } from "../forms/answers";
import { fieldOf, type Field } from "../forms/fields";
import { describedKey, keyErrors, keyInputs, keysOf, type KeyDraft } from "../servers/serverKeys";

type ObjectField = Extract<Field, { kind: "object" }>;

/** A proposal as the form holds it. */
export interface ProposalDraft {
  name: string;
  keys: KeyDraft[];
  /** Of the fields that are no secrets. */
  values: Draft;
  sandbox: boolean;
  /** Whether packages may run scripts while they are installed. */
  scripts: boolean;
}

/** What is wrong: with a value by its path, with a key by its row. */
export interface ProposalErrors {
  values: Errors;
  keys: Record<string, string | undefined>;
}

/** Tell whether it is reached at an address, and nothing is started. */
export const isUrl = ({ kind }: Proposal) => kind === "http";

/** Tell whether it is a package that is installed before it starts. */
export const isInstalled = ({ kind }: Proposal) => kind === "npm" || kind === "pypi";

/** Tell whether someone wrote down what it takes; of what was pasted nobody knows before it is tried. */
export const isDescribed = ({ kind, source }: Proposal) => kind === "mcpb" || source.type !== "manual";

/** Return the fields for its keys; an address that nobody described may want a token. */
function keysFor(proposal: Proposal): KeyDraft[] {
  const keys = proposal.fields.filter(({ secret }) => secret).map(describedKey);
  return isUrl(proposal) && !isDescribed(proposal) && keys.length === 0 ? keysOf(null) : keys;
}

/** Return the fields that are no secrets, as one form. */
export function fieldsOf(proposal: Proposal): ObjectField {
  const open = proposal.fields.filter(({ secret }) => !secret);
  const properties = open.map(({ id, label, about, schema }) => [id, { ...schema, title: label, description: about || schema.description }]);
  const required = open.filter((field) => field.required).map(({ id }) => id);
  return { ...fieldOf({ type: "object", properties: Object.fromEntries(properties), required }), label: "", help: "" } as ObjectField;
}

/** Return the beginning of a form; a list that must not stay empty begins with a row to fill in. */
export function newProposalDraft(proposal: Proposal): ProposalDraft {
  const fields = fieldsOf(proposal);
  const values = draftOf(fields) as Record<string, Draft>;
  for (const field of fields.fields) {
    const rows = values[field.name];
    if (field.kind === "list" && field.required && Array.isArray(rows) && !rows.length) values[field.name] = [draftOf(field.item)];
  }
  return {
    name: proposal.name,
    keys: keysFor(proposal),
    values,
    sandbox: proposal.server?.sandbox ?? false,
    scripts: proposal.server?.scripts ?? false,
  };
}

/** Return what cannot stay as it is; null when all can. */
export function errorsOf(proposal: Proposal, draft: ProposalDraft): ProposalErrors | null {
  const values = answerOf(fieldsOf(proposal), draft.values).errors ?? {};
  const all = Object.entries(keyErrors(draft.keys, isUrl(proposal)));
  const keys = Object.fromEntries(all.filter(([, sentence]) => sentence));
  return Object.keys(values).length || Object.keys(keys).length ? { values, keys } : null;
}

/** Return the server that a filled form stands for: the proposal's own keys go into it, others are added to it. */
export async function filledIn(proposal: Proposal, draft: ProposalDraft): Promise<ServerInput> {
  const values = (answerOf(fieldsOf(proposal), draft.values).value ?? {}) as Record<string, unknown>;
  const given = Object.entries(keyInputs(draft.keys, isUrl(proposal))).flatMap(([id, key]) => (key ? [[id, key] as const] : []));
  const own = new Set(proposal.fields.map(({ id }) => id));
  const server = await finding.fill({ proposal, values, keys: Object.fromEntries(given.filter(([id]) => own.has(id))) });
  return {
    ...server,
    name: draft.name.trim() || (server.name ?? ""),
    keys: { ...server.keys, ...Object.fromEntries(given.filter(([id]) => !own.has(id))) },
    ...(isUrl(proposal) ? {} : { sandbox: draft.sandbox }),
    ...(isInstalled(proposal) ? { scripts: draft.scripts } : {}),
  };
}
