import { Button } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { api } from "../api/client";
import type { ServerTool } from "../api/types";
import { JsonTree } from "../json/JsonTree";
import { CopyButton } from "../shell/CopyButton";
import { ChevronIcon, WarningIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { Difference } from "./Difference";
import { useApp } from "../store/store";
import { Seen } from "./Plain";
import { ToolTime } from "./ToolTime";
import classes from "./Tools.module.css";

const states = { offered: "", off: "Off", changed: "Changed", quarantined: "Quarantined" } as const;

function Changed({ tool, onChanged }: { tool: ServerTool; onChanged: () => void }) {
  const [isBusy, setBusy] = useState(false);
  const confirm = () => {
    setBusy(true);
    api
      .confirmTool(tool.serverId, tool.name, tool.fingerprint)
      .then(onChanged, tell)
      .finally(() => setBusy(false));
  };
  return (
    <div className={classes.changed}>
      <p className={`ph-with-icon ${classes.warning}`}>
        <WarningIcon size={15} />
        <span>
          {tool.reason || "The server describes this tool differently than when you allowed it."} It is not used until you
          confirm.
        </span>
      </p>
      <Difference before={tool.approved ?? {}} now={tool.now ?? {}} />
      <Button size="compact-sm" loading={isBusy} onClick={confirm}>
        Confirm the new definition
      </Button>
    </div>
  );
}

function SchemaPart({ title, schema }: { title: string; schema: Record<string, unknown> }) {
  const name = title.toLowerCase();
  return (
    <div className={classes.part}>
      <div className={classes.partHead}>
        <span>{title}</span>
        <CopyButton value={JSON.stringify(schema, null, 2)} label={`Copy ${name}`} />
      </div>
      <JsonTree value={schema} label={title} />
    </div>
  );
}

/** Everything a tool says about itself, and what is wrong with it. */
export function ToolDetails({ tool, onChanged }: { tool: ServerTool; onChanged: () => void }) {
  const server = useApp((state) => state.servers.servers.find(({ id }) => id === tool.serverId));
  return (
    <>
      {tool.state === "changed" && <Changed tool={tool} onChanged={onChanged} />}
      {tool.state === "quarantined" && (
        <p className={`ph-with-icon ${classes.warning}`}>
          <WarningIcon size={15} />
          <span>Not offered to any model: {tool.reason || "it cannot be used as it is."}</span>
        </p>
      )}
      {tool.warnings.map((warning) => (
        <p key={warning} className={`ph-with-icon ${classes.warning}`}>
          <WarningIcon size={15} />
          <span>{warning}</span>
        </p>
      ))}
      {tool.description && (
        <p className={classes.description}>
          <Seen text={tool.description} prose />
        </p>
      )}
      {server && tool.state !== "quarantined" && <ToolTime server={server} tool={tool.name} />}
      <SchemaPart title="Input schema" schema={tool.inputSchema} />
      {tool.outputSchema && <SchemaPart title="Output schema" schema={tool.outputSchema} />}
      {Object.keys(tool.annotations).length > 0 && <SchemaPart title="Annotations" schema={tool.annotations} />}
    </>
  );
}

interface ToolLineProps {
  tool: ServerTool;
  /** Whether the tool's server is named too. */
  isQualified: boolean;
  aside?: ReactNode;
  children: () => ReactNode;
}

/** One tool as a line that opens. */
export function ToolLine({ tool, isQualified, aside, children }: ToolLineProps) {
  const [isOpen, setOpen] = useState(false);
  const state = states[tool.state];
  return (
    <li className={classes.tool} data-state={tool.state} aria-label={tool.qualifiedName}>
      <div className={classes.line}>
        <button type="button" className={classes.pick} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <span className={classes.chevron} data-open={isOpen || undefined}>
            <ChevronIcon size={14} />
          </span>
          <span className={classes.words}>
            <span className={classes.name}>
              {isQualified ? tool.qualifiedName : tool.name}
              {tool.title && tool.title !== tool.name && <span className={classes.title}>{tool.title}</span>}
            </span>
            {!isOpen && tool.description && <span className={classes.brief}>{tool.description}</span>}
          </span>
          {state && (
            <span className={classes.badge} data-state={tool.state}>
              {state}
            </span>
          )}
        </button>
        {aside}
      </div>
      {isOpen && <div className={classes.body}>{children()}</div>}
    </li>
  );
}
