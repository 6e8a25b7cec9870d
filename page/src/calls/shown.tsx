import type { ReactNode } from "react";
import type { CallItem } from "../api/types";
import {
  CheckIcon,
  ClipboardIcon,
  ClockIcon,
  CopyIcon,
  FolderIcon,
  GearIcon,
  icon,
  ImageIcon,
  PencilIcon,
  PlusIcon,
  QuestionIcon,
  RetryIcon,
  SearchIcon,
  StopIcon,
  TerminalIcon,
  ThoughtIcon,
  TrashIcon,
  WarningIcon,
} from "../shell/icons";

const FileIcon = icon(<path d="M7 3.5h7l4.5 4.5v12.5H7a1.5 1.5 0 0 1-1.5-1.5V5A1.5 1.5 0 0 1 7 3.5zM13.5 3.5v5h5" />);
const GitIcon = icon(
  <>
    <circle cx="7" cy="6" r="2" />
    <circle cx="7" cy="18" r="2" />
    <circle cx="17" cy="9" r="2" />
    <path d="M7 8v8M17 11c0 3-4 3.5-8.4 5.6" />
  </>,
);
const BrainIcon = icon(
  <path d="M12 5.5a3 3 0 0 0-5.6 1.4A3.4 3.4 0 0 0 5 12.6 3.2 3.2 0 0 0 8 18a2.6 2.6 0 0 0 4 .5zM12 5.5a3 3 0 0 1 5.6 1.4 3.4 3.4 0 0 1 1.4 5.7 3.2 3.2 0 0 1-3 5.4 2.6 2.6 0 0 1-4 .5M12 5.5v13" />,
);
const ToolIcon = icon(<path d="M14.5 6.5a4 4 0 0 0-5.2 5.2L4.5 16.5a2 2 0 0 0 3 3l4.8-4.8a4 4 0 0 0 5.2-5.2l-2.6 2.6-2.6-.6-.6-2.6z" />);
const ServerIcon = icon(
  <>
    <rect x="4" y="5" width="16" height="6" rx="1.5" />
    <rect x="4" y="13" width="16" height="6" rx="1.5" />
    <path d="M7.5 8h.1M7.5 16h.1" />
  </>,
);
const GlobeIcon = icon(
  <>
    <circle cx="12" cy="12" r="8" />
    <path d="M4 12h16M12 4c2.5 2.4 3.5 5 3.5 8s-1 5.6-3.5 8c-2.5-2.4-3.5-5-3.5-8s1-5.6 3.5-8z" />
  </>,
);

/** The pictures that tools name; one that is not known is the picture of any tool. */
const icons: Record<string, (props: { size?: number }) => ReactNode> = {
  file: FileIcon,
  document: FileIcon,
  pencil: PencilIcon,
  edit: PencilIcon,
  plus: PlusIcon,
  folder: FolderIcon,
  trash: TrashIcon,
  search: SearchIcon,
  copy: CopyIcon,
  terminal: TerminalIcon,
  stop: StopIcon,
  clock: ClockIcon,
  clipboard: ClipboardIcon,
  check: CheckIcon,
  git: GitIcon,
  gear: GearIcon,
  hammer: ToolIcon,
  brain: BrainIcon,
  thought: ThoughtIcon,
  question: QuestionIcon,
  repeat: RetryIcon,
  server: ServerIcon,
  warning: WarningIcon,
  globe: GlobeIcon,
  image: ImageIcon,
  web: GlobeIcon,
  tool: ToolIcon,
};

/** Return how a built-in tool shows its call; null where it says nothing. A server's words never stand in for a name. */
export const shownOf = ({ data: { server, shown } }: CallItem) => (!server && shown?.summary ? shown : null);

/** The picture of a tool. */
export function ToolPicture({ name, size = 15 }: { name: string; size?: number }) {
  const Icon = (Object.hasOwn(icons, name) && icons[name]) || ToolIcon;
  return <Icon size={size} />;
}
