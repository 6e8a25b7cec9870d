import { Button, Checkbox } from "@mantine/core";
import type { OtherFile } from "../api/types";
import finding from "../finding/Finding.module.css";
import { MachineIcon } from "../shell/icons";
import { chooseFile, chooseServer, type ChosenServers } from "./importing";
import { Plain, Seen } from "./Plain";

interface FileProps {
  file: OtherFile;
  chosen: ChosenServers;
  onChange: (chosen: ChosenServers) => void;
}

function File({ file, chosen, onChange }: FileProps) {
  const { program, path, servers, problem } = file;
  const names = chosen.get(path) ?? new Set();
  return (
    <li className={finding.group} aria-label={program}>
      <Checkbox
        label={<strong>{program}</strong>}
        description={<Plain text={path} />}
        disabled={servers.length === 0}
        checked={servers.length > 0 && names.size === servers.length}
        indeterminate={names.size > 0 && names.size < servers.length}
        onChange={(event) => onChange(chooseFile(chosen, file, event.currentTarget.checked))}
      />
      {problem && <p className={finding.refused}>{problem}</p>}
      <ul className={finding.ticks}>
        {servers.map((name) => (
          <li key={name}>
            <Checkbox
              size="sm"
              label={<Seen text={name} />}
              checked={names.has(name)}
              onChange={(event) => onChange(chooseServer(chosen, path, name, event.currentTarget.checked))}
            />
          </li>
        ))}
      </ul>
    </li>
  );
}

interface OnThisMachineProps {
  /** What was found; null before anyone asked. */
  files: readonly OtherFile[] | null;
  isLooking: boolean;
  chosen: ChosenServers;
  onLook: () => void;
  onChange: (chosen: ChosenServers) => void;
}

/** What other programs here have: their files are read when the person says so, not before. */
export function OnThisMachine({ files, isLooking, chosen, onLook, onChange }: OnThisMachineProps) {
  if (files === null) {
    return (
      <div>
        <Button variant="default" leftSection={<MachineIcon size={16} />} loading={isLooking} onClick={onLook}>
          Look on this machine
        </Button>
      </div>
    );
  }
  if (files.length === 0) return <p className="ph-lead">No other program on this machine has servers that Pilothouse knows how to read.</p>;
  return (
    <ul className={finding.files} aria-label="On this machine">
      {files.map((file) => (
        <File key={file.path} file={file} chosen={chosen} onChange={onChange} />
      ))}
    </ul>
  );
}
