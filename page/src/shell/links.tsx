import type { ReactNode } from "react";
import classes from "./App.module.css";
import { navigate, settingsPath, settingsTabs, type SettingsTab } from "./router";

interface LinkProps {
  path: string;
  className?: string | undefined;
  children: ReactNode;
}

/** A link to another place of the page; with a modifier it is the browser's. */
export function PageLink({ path, className = classes.link, children }: LinkProps) {
  return (
    <a
      className={className}
      href={path}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        navigate(path);
      }}
    >
      {children}
    </a>
  );
}

const PLACES = /(Settings, (?:General|Models|MCP|Memory|Permissions|Prompts|Terminal|Web|Usage|Operation)\b)/;

/** Return the tab of the settings that words such as "Settings, Models" name. */
export function placeNamed(words: string): SettingsTab | null {
  if (!PLACES.test(words)) return null;
  return settingsTabs.find((tab) => words.toLowerCase() === `settings, ${tab}`) ?? null;
}

/** Return a text with the places of the page that it names as links to them. */
export function withLinks(text: string): ReactNode {
  const pieces = text.split(PLACES);
  if (pieces.length === 1) return text;
  return pieces.map((piece, at) => {
    const tab = placeNamed(piece);
    return tab ? (
      <PageLink key={at} path={settingsPath(tab)}>
        {piece}
      </PageLink>
    ) : (
      piece
    );
  });
}
