import type { ReactNode } from "react";

/** Icons of one hand: 24 units, one stroke, no fill. They are decoration; the control around them has the name. */
export function icon(path: ReactNode) {
  return function Icon({ size = 18 }: { size?: number }) {
    return (
      <svg
        width={size}
        height={size}
        viewBox="0 0 24 24"
        fill="none"
        stroke="currentColor"
        strokeWidth={1.75}
        strokeLinecap="round"
        strokeLinejoin="round"
        aria-hidden="true"
        focusable="false"
      >
        {path}
      </svg>
    );
  };
}

/** Such an icon in a ring. */
const ringed = (path: string, fill?: string) =>
  icon(
    <>
      <circle cx="12" cy="12" r="8" />
      <path d={path} fill={fill} />
    </>,
  );

export const KeyIcon = icon(<path d="M12 15.5a4 4 0 1 1-8 0 4 4 0 0 1 8 0zM10.9 12.6L20 3.5M16.5 7l3 3M13.7 9.8l2 2" />);
export const CheckIcon = icon(<path d="M5 12.5l4.5 4.5L19 7.5" />);
export const ChevronIcon = icon(<path d="M9 6l6 6-6 6" />);
export const ChevronDownIcon = icon(<path d="M6 9l6 6 6-6" />);
export const ArrowDownIcon = icon(<path d="M12 5v14M6 13l6 6 6-6" />);
export const ArrowUpIcon = icon(<path d="M12 19V5M6 11l6-6 6 6" />);
export const PlusIcon = icon(<path d="M12 5v14M5 12h14" />);
export const MinusIcon = icon(<path d="M5 12h14" />);
export const CloseIcon = icon(<path d="M6 6l12 12M18 6L6 18" />);
export const SearchIcon = icon(
  <>
    <circle cx="11" cy="11" r="6.5" />
    <path d="M16 16l4.5 4.5" />
  </>,
);
export const PinIcon = icon(<path d="M9 4h6l-1 6 3.5 3.5h-11L10 10zM12 13.5V20" />);
export const MenuIcon = icon(<path d="M4 7h16M4 12h16M4 17h16" />);
export const StopIcon = icon(<rect x="7" y="7" width="10" height="10" rx="1.5" fill="currentColor" />);
export const GearIcon = icon(
  <>
    <circle cx="12" cy="12" r="3" />
    <path d="M12 3v2.5M12 18.5V21M3 12h2.5M18.5 12H21M5.6 5.6l1.8 1.8M16.6 16.6l1.8 1.8M18.4 5.6l-1.8 1.8M7.4 16.6l-1.8 1.8" />
    <circle cx="12" cy="12" r="6.5" />
  </>,
);
export const SlidersIcon = icon(
  <>
    <path d="M4 7h9M17 7h3M4 17h3M11 17h9" />
    <circle cx="15" cy="7" r="2" />
    <circle cx="9" cy="17" r="2" />
  </>,
);
export const CopyIcon = icon(
  <>
    <rect x="8.5" y="8.5" width="11" height="11" rx="2" />
    <path d="M15.5 5.5A2 2 0 0 0 13.5 4.5H6.5a2 2 0 0 0-2 2v7a2 2 0 0 0 1 1.7" />
  </>,
);
export const PencilIcon = icon(<path d="M4.5 19.5l.9-3.9L16 5a2 2 0 0 1 3 3L8.4 18.6zM14 7l3 3" />);
export const TrashIcon = icon(<path d="M4.5 7h15M9.5 7V4.5h5V7M6.5 7l.8 12.5h9.4L17.5 7M10 11v5M14 11v5" />);
export const ImageIcon = icon(
  <>
    <rect x="4" y="5" width="16" height="14" rx="2" />
    <circle cx="9" cy="10" r="1.5" />
    <path d="M5 17l5-4 3 2.5L16 12l4 4" />
  </>,
);
export const SunIcon = icon(
  <>
    <circle cx="12" cy="12" r="4" />
    <path d="M12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6L7 7M17 17l1.4 1.4M18.4 5.6L17 7M7 17l-1.4 1.4" />
  </>,
);
export const MoonIcon = icon(<path d="M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10z" />);
export const HalfIcon = ringed("M12 4a8 8 0 0 1 0 16z", "currentColor");
export const HourglassTopIcon = icon(<path d="M7 4h10M7 20h10M8 4c0 5 4 5 4 8s-4 3-4 8M16 4c0 5-4 5-4 8s4 3 4 8M9.5 6.5h5" />);
export const HourglassBottomIcon = icon(
  <path d="M7 4h10M7 20h10M8 4c0 5 4 5 4 8s-4 3-4 8M16 4c0 5-4 5-4 8s4 3 4 8M9.5 18h5" />,
);
export const CrossCircleIcon = ringed("M9.3 9.3l5.4 5.4M14.7 9.3l-5.4 5.4");
export const ForbiddenIcon = ringed("M6.5 6.5l11 11");
export const ClockIcon = ringed("M12 7.5V12l3 2");
export const QuestionIcon = ringed("M9.8 9.8a2.3 2.3 0 1 1 3.2 2.2c-.7.3-1 .8-1 1.5M12 16.2v.1");
export const InfoIcon = ringed("M12 11v5M12 8v.1");
export const WarningIcon = icon(<path d="M12 4.5L3.5 19.5h17zM12 10.5v4M12 17v.1" />);
export const ThoughtIcon = icon(
  <path d="M9 18.5h6M10 21h4M8.5 15.5c-1.7-1.2-3-3-3-5.5a6.5 6.5 0 0 1 13 0c0 2.5-1.3 4.3-3 5.5z" />,
);
export const RetryIcon = icon(<path d="M19 5v5h-5M18.5 10A7 7 0 1 0 19 13.5" />);
export const ClipboardIcon = icon(
  <>
    <rect x="6" y="5.5" width="12" height="14.5" rx="2" />
    <path d="M9.5 5.5V4h5v1.5M9.5 11h5M9.5 14.5h5" />
  </>,
);
export const PanelIcon = icon(
  <>
    <rect x="3.5" y="5" width="17" height="14" rx="2" />
    <path d="M14.5 5v14" />
  </>,
);
export const ColumnsIcon = icon(
  <>
    <rect x="3.5" y="5" width="17" height="14" rx="2" />
    <path d="M12 5v14" />
  </>,
);
export const ReplayIcon = icon(<path d="M4.500 5v5h5M5 10a7.500 7.500 0 1 1-.4 4M10.500 9.500v5l4.500-2.500z" />);
export const FolderIcon = icon(<path d="M3.5 7.5a2 2 0 0 1 2-2h3.6l2.2 2.4h7.2a2 2 0 0 1 2 2v7a2 2 0 0 1-2 2h-13a2 2 0 0 1-2-2z" />);
export const TerminalIcon = icon(
  <>
    <rect x="3.5" y="5" width="17" height="14" rx="2" />
    <path d="M7.5 9.5l3 2.5-3 2.5M12.5 15h4" />
  </>,
);
export const ToolIcon = icon(<path d="M14.5 6.5a4 4 0 0 1 5-1l-2.7 2.7 1 2 2 1 2.7-2.7a4 4 0 0 1-5.2 5.2L9 22l-3-3 8-8.3a4 4 0 0 1 .5-4.2z" transform="translate(-1.5 -1.5)" />);
export const UndoIcon = icon(<path d="M8.5 5L4.5 9l4 4M4.5 9h9a5.5 5.5 0 0 1 0 11h-3" />);
export const ShieldIcon = icon(<path d="M12 3.5l7 2.5v5.5c0 4.4-2.9 7.6-7 9-4.1-1.4-7-4.6-7-9V6z" />);
export const DownloadIcon = icon(<path d="M12 4.5v10M7.5 10.5l4.5 4.5 4.5-4.5M5 19.5h14" />);
export const FileIcon = icon(<path d="M6.5 3.5h7l4 4v13h-11zM13.5 3.5v4h4" />);
export const MachineIcon = icon(<path d="M4 5.5h16v10H4zM9 19.5h6M12 15.5v4" />);
export const NearbyIcon = icon(
  <>
    <circle cx="12" cy="12" r="1.5" />
    <path d="M8.5 15.5a5 5 0 0 1 0-7M15.5 8.5a5 5 0 0 1 0 7M5.5 18.5a9 9 0 0 1 0-13M18.5 5.5a9 9 0 0 1 0 13" />
  </>,
);
export const VerifiedIcon = ringed("M8.5 12.2l2.4 2.4 4.6-4.8");
export const BackIcon = icon(<path d="M15 6l-6 6 6 6" />);
export const TopicIcon = icon(<path d="M4.5 4.5h7l8 8-7 7-8-8zM8.5 8.5v.1" />);
export const SparkIcon = icon(<path d="M12 4l1.8 5.2L19 11l-5.2 1.8L12 18l-1.8-5.2L5 11l5.2-1.8zM19 16.5v4M17 18.5h4" />);
export const BranchIcon = icon(
  <>
    <circle cx="7" cy="5.5" r="2" />
    <circle cx="7" cy="18.5" r="2" />
    <circle cx="17" cy="8.5" r="2" />
    <path d="M7 7.5v9M17 10.5c0 3.5-3 4-6 4.4-2 .3-3.6.7-3.9 1.6" />
  </>,
);
/** All branches; the icon of one is for making it. */
export const TreeIcon = icon(<path d="M4.500 5.500h6M7.500 5.500v11a2 2 0 0 0 2 2h2.500M7.500 12h4.500M15 12h4.500M15 18.500h4.500" />);
export const DotsIcon = icon(<path d="M6 12v.1M12 12v.1M18 12v.1" strokeWidth={2.75} />);
export const EyeOffIcon = icon(<path d="M4 4l16 16M9.9 5.8A8.9 8.9 0 0 1 12 5.5c5 0 8.2 4.4 9 6.5a12 12 0 0 1-2.7 3.8M6.5 7.6A12 12 0 0 0 3 12c.8 2.1 4 6.5 9 6.5 1.7 0 3.2-.5 4.5-1.2M10 10.2a2.6 2.6 0 0 0 3.7 3.6" />);
export const NewWindowIcon = icon(<path d="M11 5H6.5a2 2 0 0 0-2 2v10.500a2 2 0 0 0 2 2H17a2 2 0 0 0 2-2V13M14.500 4.500h5v5M19.500 4.500L11.500 12.500" />);
