import { FileButton } from "@mantine/core";
import { useId, type ReactNode } from "react";
import { FileIcon, MachineIcon, NearbyIcon, PencilIcon } from "../shell/icons";
import classes from "./Finding.module.css";

interface WayProps {
  icon: ReactNode;
  title: string;
  children: ReactNode;
  onClick: () => void;
}

function Way({ icon, title, children, onClick }: WayProps) {
  const id = useId();
  return (
    <li>
      <button type="button" className={classes.way} aria-labelledby={id} aria-describedby={`${id}-about`} onClick={onClick}>
        {icon}
        <span>
          <span id={id} className={classes.wayTitle}>
            {title}
          </span>
          <span id={`${id}-about`} className={classes.wayAbout}>
            {children}
          </span>
        </span>
      </button>
    </li>
  );
}

export interface OtherWaysProps {
  onFile: (file: File) => void;
  onImport: () => void;
  onNearby: () => void;
  onByHand: () => void;
}

/** What can be done where nothing was typed yet. */
export function OtherWays({ onFile, onImport, onNearby, onByHand }: OtherWaysProps) {
  return (
    <section aria-label="More ways">
      <h3 className={`ph-group-name ${classes.waysTitle}`}>More ways</h3>
      <ul className={classes.ways}>
        <FileButton accept=".mcpb,.dxt,.json,.jsonc,.toml,.yaml,.yml" onChange={(file) => file && onFile(file)}>
          {({ onClick }) => (
            <Way icon={<FileIcon />} title="Choose a file…" onClick={onClick}>
              A bundle (.mcpb) or another program’s settings. It can be dropped here, too.
            </Way>
          )}
        </FileButton>
        <Way icon={<MachineIcon />} title="Look on this machine" onClick={onImport}>
          Take over what Claude, VS Code, Cursor and others have configured here.
        </Way>
        <Way icon={<NearbyIcon />} title="Look nearby" onClick={onNearby}>
          Servers on machines that you name.
        </Way>
        <Way icon={<PencilIcon />} title="Enter it by hand" onClick={onByHand}>
          A command or an address, with all options.
        </Way>
      </ul>
    </section>
  );
}
