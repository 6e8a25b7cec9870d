import { Textarea, TextInput } from "@mantine/core";
import { useId, useState } from "react";
import { useApp } from "../store/store";
import { breadth, inWords, typed, words, type Pattern } from "./pattern";
import classes from "./Policy.module.css";

interface PatternFieldsProps {
  pattern: Pattern;
  onChange: (next: Pattern) => void;
  /** Show every part, also those that say nothing. */
  isWhole?: boolean;
  problem?: string | undefined;
}

interface PartProps {
  label: string;
  description: string;
  value: string;
  isCode?: boolean;
  problem?: string | undefined;
  /** The id of the list of what it could be. */
  list?: string;
  onChange: (text: string) => void;
}

function Part({ label, description, value, isCode = true, problem, list, onChange }: PartProps) {
  return (
    <TextInput
      {...(list ? { list } : {})}
      label={label}
      description={description}
      spellCheck={false}
      value={value}
      error={problem}
      classNames={{ input: (isCode && "ph-mono") || "" }}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

const lines = (text: string) => text.split("\n").map((line) => line.trim()).filter(Boolean);

/** The paths, one to a line; what is typed is kept as it is. */
function Paths({ paths, onChange }: { paths: readonly string[]; onChange: (paths: string[]) => void }) {
  const [text, setText] = useState(paths.join("\n"));
  return (
    <Textarea
      label="Paths"
      description="One to a line, from the working directory or from /; ** stands for any depth."
      spellCheck={false}
      autosize
      minRows={1}
      maxRows={6}
      value={text}
      classNames={{ input: "ph-mono" }}
      onChange={(event) => {
        setText(event.currentTarget.value);
        onChange(lines(event.currentTarget.value));
      }}
    />
  );
}

/** The tool; the names of those that there are need not be known by heart. */
function Tool({ tool, problem, onChange }: { tool: string; problem: string | undefined; onChange: (tool: string) => void }) {
  const list = useId();
  const servers = useApp((state) => state.servers.servers);
  const tools = useApp((state) => state.builtInTools);
  const names = [...tools.filter((each) => each.needsFolder).map(({ name }) => name), ...servers.map(({ slug }) => slug)];
  return (
    <>
      <Part
        label="Tool"
        description="One operation (file_operations.create_file), all of a tool or a server (git.*), or * for any."
        isCode={false}
        value={tool}
        problem={problem}
        list={list}
        onChange={(next) => onChange(next.trim())}
      />
      <datalist id={list}>
        {names.map((name) => (
          <option key={name} value={`${name}.*`} />
        ))}
      </datalist>
    </>
  );
}

interface CommandProps {
  command: readonly string[];
  problem: string | undefined;
  onChange: (command: string[]) => void;
}

/** The words of a command; a space at the end of a word is not yet another word. */
function Command({ command, problem, onChange }: CommandProps) {
  const [text, setText] = useState(typed(command));
  const change = (next: string) => {
    setText(next);
    onChange(words(next));
  };
  const description = "Its words; * at the end stands for any further words that are not options.";
  return <Part label="Command" description={description} value={text} problem={problem} onChange={change} />;
}

/** The parts of a pattern, each in a field, and what it covers in words. */
export function PatternFields({ pattern, onChange, isWhole = false, problem }: PatternFieldsProps) {
  // A part that was there at first stays, also while it is being typed anew.
  const [first] = useState(pattern);
  const edit = (change: Partial<Pattern>) => onChange({ ...pattern, ...change });
  const wide = breadth(pattern);
  // Where there are words of a command, they are what is most often wrong.
  const isAboutCommand = pattern.command.length > 0;
  return (
    <div className={classes.patternFields}>
      <Tool tool={pattern.tool} problem={isAboutCommand ? undefined : problem} onChange={(tool) => edit({ tool })} />
      {(isWhole || first.command.length > 0) && (
        <Command
          command={pattern.command}
          problem={isAboutCommand ? problem : undefined}
          onChange={(command) => edit({ command })}
        />
      )}
      {(isWhole || first.paths.length > 0) && <Paths paths={pattern.paths} onChange={(paths) => edit({ paths })} />}
      {(isWhole || first.destination) && (
        <Part
          label="Destination"
          description="A host or a server; *.example.com for those under it."
          isCode={false}
          value={pattern.destination}
          onChange={(destination) => edit({ destination: destination.trim() })}
        />
      )}
      {(isWhole || first.folder) && (
        <Part
          label="Working directory"
          description="Only for conversations that work in it; empty for any."
          value={pattern.folder}
          onChange={(folder) => edit({ folder })}
        />
      )}
      <p className={classes.covers} role="status">
        {pattern.tool && (
          <>
            <span className={classes.coversLabel}>Covers</span> {inWords(pattern)}.{" "}
            {wide && <span className={classes.wide}>{wide}</span>}
          </>
        )}
      </p>
    </div>
  );
}
