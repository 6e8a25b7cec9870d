import { Button, Menu, type ButtonProps } from "@mantine/core";
import { useRef, type KeyboardEvent, type MouseEvent, type ReactNode } from "react";

interface AgreeProps {
  isArmed: boolean;
  /** Agreed to with the pointer or the space bar only: Enter is pressed too easily. */
  isDangerous?: boolean;
  onAgree: () => void;
}

/** What makes a press agree: only a fresh one of the person's own that began when it was armed. */
function useAgree({ isArmed, isDangerous = false, onAgree }: AgreeProps) {
  // Whether the press that a click would end began while the button was armed; null when nothing was pressed.
  const press = useRef<boolean | null>(null);
  return {
    // Still reachable by keyboard while it waits, so that the focus is not lost to a timer.
    "aria-disabled": !isArmed || undefined,
    "data-waiting": !isArmed || undefined,
    onPointerDown: () => (press.current = isArmed),
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      if (event.repeat || (isDangerous && event.key === "Enter")) event.preventDefault();
      else press.current = isArmed;
    },
    onClick: (event: MouseEvent) => {
      const began = press.current ?? isArmed;
      press.current = null;
      if (event.nativeEvent.isTrusted && isArmed && began && document.hasFocus()) onAgree();
    },
  };
}

interface AgreeButtonProps extends ButtonProps, AgreeProps {
  children: ReactNode;
}

/** A button that agrees to something. */
export function AgreeButton({ isArmed, isDangerous = false, onAgree, children, ...others }: AgreeButtonProps) {
  const agree = useAgree({ isArmed, isDangerous, onAgree });
  return (
    <Button size="compact-md" {...others} {...agree}>
      {children}
    </Button>
  );
}

/** A line of a menu that agrees to something. */
export function AgreeItem({ children, ...agrees }: AgreeProps & { children: ReactNode }) {
  return (
    // What did not agree leaves the menu open.
    <Menu.Item closeMenuOnClick={agrees.isArmed} {...useAgree(agrees)}>
      {children}
    </Menu.Item>
  );
}
