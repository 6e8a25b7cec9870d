import { finding } from "../api/finding";
import type { ImportQuestion, ImportReport, ImportRequest, OtherFile } from "../api/types";

export type Answers = Record<string, string | null>;

/** The names of the chosen servers, by the file that has them. */
export type ChosenServers = ReadonlyMap<string, ReadonlySet<string>>;

/** Return the choice with one server more, or without it. */
export function chooseServer(chosen: ChosenServers, path: string, name: string, isOn: boolean): ChosenServers {
  const names = new Set(chosen.get(path));
  if (isOn) names.add(name);
  else names.delete(name);
  return new Map(chosen).set(path, names);
}

/** Return the choice with all servers of a file, or none of them. */
export const chooseFile = (chosen: ChosenServers, { path, servers }: OtherFile, isOn: boolean): ChosenServers =>
  new Map(chosen).set(path, new Set(isOn ? servers : []));

/** Return what to ask for: the chosen servers of each file, and what was pasted. */
export function requestsOf(files: readonly OtherFile[], chosen: ChosenServers, text: string, origin: string): ImportRequest[] {
  const requests: ImportRequest[] = files.flatMap(({ path, program, servers }) => {
    const only = servers.filter((name) => chosen.get(path)?.has(name));
    return only.length ? [{ file: path, only, origin: program }] : [];
  });
  return text.trim() ? [...requests, { text, origin }] : requests;
}

/** Return each question once, with all servers that need its answer. */
export function joinedQuestions(lists: readonly (readonly ImportQuestion[])[]): ImportQuestion[] {
  const joined = new Map<string, ImportQuestion>();
  for (const question of lists.flat()) {
    const known = joined.get(question.id);
    joined.set(question.id, known ? { ...known, servers: [...new Set([...known.servers, ...question.servers])] } : question);
  }
  return [...joined.values()];
}

/** Ask what the files leave open. */
export async function questionsOf(requests: readonly ImportRequest[]): Promise<ImportQuestion[]> {
  const asked = await Promise.all(requests.map((request) => finding.importQuestions(request)));
  return joinedQuestions(asked.map(({ questions }) => questions));
}

/** Import one file after the other; what one refused does not keep the others. */
export async function importAll(requests: readonly ImportRequest[], answers: Answers): Promise<ImportReport> {
  const reports: ImportReport[] = [];
  for (const request of requests) reports.push(await finding.importServers({ ...request, answers }));
  return { servers: reports.flatMap(({ servers }) => servers) };
}
