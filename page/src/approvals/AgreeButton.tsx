import { Button, type ButtonProps } from "@mantine/core";
import { useRef, type KeyboardEvent, type MouseEvent, type ReactNode } from "react";

interface AgreeButtonProps extends ButtonProps {
  isArmed: boolean;
  /** Agreed to with the pointer or the space bar only: Enter is pressed too easily. */
  isDangerous?: boolean;
  onAgree: () => void;
  children: ReactNode;
}

/** A button that agrees to something: only by a fresh press of the person's own that began when it was armed. */
export function AgreeButton({ isArmed, isDangerous = false, onAgree, children, ...others }: AgreeButtonProps) {
  // Whether the press that a click would end began while the button was armed; null when nothing was pressed.
  const press = useRef<boolean | null>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    if (event.repeat || (isDangerous && event.key === "Enter")) event.preventDefault();
    else press.current = isArmed;
  };
  const onClick = (event: MouseEvent) => {
    const began = press.current ?? isArmed;
    press.current = null;
    if (event.nativeEvent.isTrusted && isArmed && began && document.hasFocus()) onAgree();
  };
  return (
    <Button
      size="compact-md"
      {...others}
      // Still reachable by keyboard while it waits, so that the focus is not lost to a timer.
      aria-disabled={!isArmed || undefined}
      data-waiting={!isArmed || undefined}
      onPointerDown={() => (press.current = isArmed)}
      onKeyDown={onKeyDown}
      onClick={onClick}
    >
      {children}
    </Button>
  );
}
