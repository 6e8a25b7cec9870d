import { Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import { breadth, inWords, typed, words, type Pattern } from "./pattern";
import classes from "./Policy.module.css";

interface PatternFieldsProps {
  pattern: Pattern;
  onChange: (next: Pattern) => void;
  /** Show every part, also those that say nothing. */
  isWhole?: boolean;
  problem?: string;
}

const lines = (text: string) => text.split("\n").map((line) => line.trim()).filter(Boolean);

/** The parts of a pattern, each in a field, and what it covers in words. */
export function PatternFields({ pattern, onChange, isWhole = false, problem }: PatternFieldsProps) {
  // What is typed is kept as it is: a space at the end of a word is not yet another word.
  const [paths, setPaths] = useState(pattern.paths.join("\n"));
  const [command, setCommand] = useState(typed(pattern.command));
  const edit = (change: Partial<Pattern>) => onChange({ ...pattern, ...change });
  const wide = breadth(pattern);
  return (
    <div className={classes.patternFields}>
      <TextInput
        label="Tool"
        description="One operation, all of a tool (git.*), or * for any."
        spellCheck={false}
        value={pattern.tool}
        error={problem}
        onChange={(event) => edit({ tool: event.currentTarget.value.trim() })}
      />
      {(isWhole || pattern.command.length > 0 || command) && (
        <TextInput
          label="Command"
          description="Its words; * at the end stands for any further words that are not options."
          spellCheck={false}
          value={command}
          classNames={{ input: classes.mono ?? "" }}
          onChange={(event) => {
            setCommand(event.currentTarget.value);
            edit({ command: words(event.currentTarget.value) });
          }}
        />
      )}
      {(isWhole || pattern.paths.length > 0 || paths) && (
        <Textarea
          label="Paths"
          description="One to a line, from the working directory or from /; ** stands for any depth."
          spellCheck={false}
          autosize
          minRows={1}
          maxRows={6}
          value={paths}
          classNames={{ input: classes.mono ?? "" }}
          onChange={(event) => {
            setPaths(event.currentTarget.value);
            edit({ paths: lines(event.currentTarget.value) });
          }}
        />
      )}
      {(isWhole || pattern.destination) && (
        <TextInput
          label="Destination"
          description="A host or a server; *.example.com for those under it."
          spellCheck={false}
          value={pattern.destination}
          onChange={(event) => edit({ destination: event.currentTarget.value.trim() })}
        />
      )}
      {(isWhole || pattern.folder) && (
        <TextInput
          label="Working directory"
          description="Only for conversations that work in it; empty for any."
          spellCheck={false}
          value={pattern.folder}
          classNames={{ input: classes.mono ?? "" }}
          onChange={(event) => edit({ folder: event.currentTarget.value })}
        />
      )}
      <p className={classes.covers} role="status">
        <span className={classes.coversLabel}>Covers</span> {inWords(pattern)}.{" "}
        {wide && <span className={classes.wide}>{wide}</span>}
      </p>
    </div>
  );
}
